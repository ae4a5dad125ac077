import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import type { Logger } from 'pino';
import { useFreshDatabase, useTemporaryFolder } from '../database/hooks-testing.ts';
import { errorCode, query } from '../database/testing.ts';
import { silentLog } from '../testing.ts';
import { createRawDatabases, type RawDatabases } from './raw-databases.ts';
import { externalServer, hostAndPort } from './server.ts';
import { installation, newRawDatabase, type TestDatabase } from './testing.ts';

const connectionsMax = 6;
const startupMsMax = 3_000;
// Hooks run in the order of registration.
afterAll(async () => {
  await raw.withLock(mine.name, (database) => database.drop());
  await raw.close();
});
const folder = useTemporaryFolder();
const fresh = useFreshDatabase();
let raw: RawDatabases;
let mine: TestDatabase;
let port: number;

const open = (name: string, log: Pick<Logger, 'warn'> = silentLog) =>
  createRawDatabases({
    installation,
    server: externalServer(fresh.controlUrl),
    gate: { portFile: join(folder.path, name), connectionsMax, startupMsMax, log },
  });

beforeAll(async () => {
  raw = open('port');
  mine = await newRawDatabase(raw);
  port = hostAndPort(await raw.address()).port;
});

const throughGate = (change: Partial<Record<'username' | 'password' | 'pathname' | 'search', string>>) =>
  Object.assign(new URL(mine.url), change).href;

test('an app logs in with its connection string', async () => {
  expect(mine.url).toBe(
    `postgresql://${mine.name}:${mine.password}@127.0.0.1:${port}/${mine.name}?sslmode=disable`,
  );
  expect(await query(mine.url, 'select current_user as user, current_database() as db')).toEqual([
    { user: mine.name, db: mine.name },
  ]);
  expect(await errorCode(query(throughGate({ password: 'wrong' }), 'select 1'))).toBe('28P01');
});

test('the gate rejects logins of the platform, other databases and replication', async () => {
  const control = new URL(fresh.controlUrl);
  const rows = new URL(fresh.rowsUrl);
  const admin = new URL(fresh.adminUrl);
  const another = await newRawDatabase(raw);
  for (const { username, password } of [control, rows, admin]) {
    for (const pathname of [`/${fresh.name}`, `/${mine.name}`, `/${username}`]) {
      const url = throughGate({ username, password, pathname });
      expect([username, pathname, await errorCode(query(url, 'select 1'))]).toEqual([
        username,
        pathname,
        '28000',
      ]);
    }
  }
  for (const name of [fresh.name, 'postgres', 'template1', another.name]) {
    expect([name, await errorCode(query(throughGate({ pathname: `/${name}` }), 'select 1'))]).toEqual([
      name,
      '28000',
    ]);
  }
  const replication = new pg.Client({
    connectionString: mine.url,
    replication: 'database',
  } as pg.ClientConfig);
  expect(await errorCode(replication.connect())).toBe('28000');
  await raw.withLock(another.name, (database) => database.drop());
});

function startup(name: string): Buffer {
  const body = Buffer.from(`\0\x03\0\0user\0${name}\0database\0${name}\0\0`, 'latin1');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([length, body]);
}

/** Sends bytes and resolves with the answer when the connection closes or `until` bytes have arrived. */
function send(
  bytes: Buffer | string,
  until = Number.POSITIVE_INFINITY,
): Promise<{ answer: string; socket: Socket }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let answer = '';
    socket.on('data', (part) => {
      answer += part.toString('latin1');
      if (answer.length >= until) resolve({ answer, socket });
    });
    socket.on('close', () => resolve({ answer, socket }));
    socket.on('error', reject);
  });
}

test('a request for encryption is declined, and invalid input is rejected', async () => {
  const tls = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
  const { answer, socket } = await send(tls, 1);
  expect(answer).toBe('N');
  socket.destroy();
  expect((await send('GET / HTTP/1.1\r\n\r\n')).answer).toContain('C08P01');
  expect((await send(Buffer.concat([tls, tls, tls]))).answer).toContain('NNE');
});

test('large values pass in both directions', async () => {
  const client = new pg.Client({ connectionString: mine.url });
  await client.connect();
  const text = 'äb'.repeat(4_000_000);
  const { rows } = await client.query('select $1::text as text, md5($1) as md5', [text]);
  expect(rows[0].text === text).toBeTrue();
  expect(rows[0].md5).toBe(new Bun.CryptoHasher('md5').update(text).digest('hex'));
  await client.end();
});

test('a slow reader makes the database wait, without buffering in the gate', async () => {
  const client = new pg.Client({ connectionString: mine.url });
  await client.connect();
  const { connection, processID } = client as unknown as {
    connection: { stream: Socket };
    processID: number;
  };
  const bytes = 64 * 1024 * 1024;
  connection.stream.pause();
  const answer = client.query('select repeat($1, $2) as text', ['x', bytes]);
  const waits = async () => {
    const [row] = await query(
      fresh.adminUrl,
      `select wait_event from pg_stat_activity where pid = ${processID}`,
    );
    return row?.wait_event === 'ClientWrite';
  };
  // Every query takes a turn of the event loop in which a gate without backpressure would continue to read.
  for (let inARow = 0; inARow < 20; ) inARow = (await waits()) ? inARow + 1 : 0;
  connection.stream.resume();
  expect((await answer).rows[0].text.length).toBe(bytes);
  await client.end();
});

test('a statement is cancelled through the gate', async () => {
  const client = new pg.Client({ connectionString: mine.url });
  await client.connect();
  const { processID, secretKey } = client as unknown as { processID: number; secretKey: number };
  const sleeping = errorCode(client.query('select pg_sleep(20)'));
  const cancel = Buffer.alloc(16);
  cancel.writeUInt32BE(16, 0);
  cancel.writeUInt32BE(80877102, 4);
  cancel.writeInt32BE(processID, 8);
  cancel.writeInt32BE(secretKey, 12);
  const active = `select from pg_stat_activity where pid = ${processID} and state = 'active'`;
  while ((await query(fresh.adminUrl, active)).length === 0) await Bun.sleep(5);
  await send(cancel);
  expect(await sleeping).toBe('57014');
  await client.end();
});

test('the total limit of connections applies, and closed connections free it', async () => {
  const others = [await newRawDatabase(raw), await newRawDatabase(raw)];
  const clients = others.flatMap(({ url }) => [1, 2, 3].map(() => new pg.Client({ connectionString: url })));
  expect(clients.length).toBe(connectionsMax);
  for (const client of clients) await client.connect();
  expect(await errorCode(query(mine.url, 'select 1'))).toBe('53300');
  for (const client of clients) await client.end();
  let code = '';
  while (code !== 'no error') code = await errorCode(query(mine.url, 'select 1'));
  for (const { name } of others) await raw.withLock(name, (database) => database.drop());
});

test('idle connections without a login take no capacity, with a login only their own', async () => {
  const quiet: Socket[] = [];
  const sockets = (count: number, bytes?: Buffer) =>
    Promise.all(
      Array.from(
        { length: count },
        () =>
          new Promise<void>((resolve, reject) => {
            const socket = connect(port, '127.0.0.1', () => (bytes ? socket.write(bytes) : resolve()));
            // PostgreSQL's next request, or an error.
            socket.on('data', () => resolve());
            socket.on('error', reject);
            quiet.push(socket);
          }),
      ),
    );
  await sockets(3 * connectionsMax);
  expect(await query(mine.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  const other = await newRawDatabase(raw);
  // A limit of one plus the spare connections leaves two of six.
  await raw.withLock(other.name, (database) => database.ensure({ ...other, connectionsMax: 1 }));
  await sockets(3 * connectionsMax, startup(other.name));
  expect(await errorCode(query(other.url, 'select 1'))).toBe('53300');
  expect(await query(mine.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  // Unknown logins take no capacity either.
  await sockets(3 * connectionsMax, startup(`svc_raw_${'0'.repeat(32)}`));
  expect(await query(mine.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  for (const socket of quiet) socket.destroy();
  await raw.withLock(other.name, (database) => database.drop());
});

test('a connection that does not authenticate in time is closed, an authenticated one stays', async () => {
  const client = new pg.Client({ connectionString: mine.url });
  await client.connect();
  const began = performance.now();
  const { answer } = await send(startup(mine.name));
  expect(answer).toStartWith('R');
  expect(performance.now() - began).toBeWithin(startupMsMax - 500, 2 * startupMsMax);
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await client.end();
});

test('the port survives restarts; when it is in use, another one is stored and logged', async () => {
  const first = open('kept');
  const { port: kept } = hostAndPort(await first.address());
  expect(await first.address()).toBe(await first.address());
  expect(readFileSync(join(folder.path, 'kept'), 'utf8')).toBe(`${kept}\n`);
  await first.close();
  const second = open('kept');
  expect(hostAndPort(await second.address()).port).toBe(kept);
  await second.close();

  const squatter = await new Promise<Server>((resolve) => {
    const server = createServer().listen(kept, '127.0.0.1', () => resolve(server));
  });
  const logged: unknown[] = [];
  const third = open('kept', { warn: (fields: unknown) => logged.push(fields) } as never);
  const { port: moved } = hostAndPort(await third.address());
  expect(moved).not.toBe(kept);
  expect(logged).toEqual([{ port: kept, newPort: moved }]);
  expect(readFileSync(join(folder.path, 'kept'), 'utf8')).toBe(`${moved}\n`);
  await third.close();
  await new Promise((resolve) => squatter.close(resolve));
});

test('closing the gate closes its connections', async () => {
  const gate = open('closing');
  gate.registerLogins([mine]);
  const address = hostAndPort(await gate.address());
  const client = new pg.Client({
    connectionString: throughGate({}).replace(`:${port}/`, `:${address.port}/`),
  });
  const ended = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  await gate.close();
  await ended;
  expect(
    await errorCode(query(throughGate({}).replace(`:${port}/`, `:${address.port}/`), 'select 1')),
  ).not.toBe('no error');
});
