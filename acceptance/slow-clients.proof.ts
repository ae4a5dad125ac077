import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { patientMs } from '../scripts/patience.ts';
import { openServerDatabase } from './support/database.ts';
import { insertLines, newTable, type RowsWorld, rowsWorld, Tally } from './support/rows.ts';
import { startEmbedded } from './support/server.ts';
import { keepAsking, until } from './support/until.ts';

/** Of each kind. */
const slowCount = 100;
const byteMs = 200;
const askedForMs = 12_000;
const rowsCount = 6_000;

/** The limits of one listener are tested beside it (`raw-listener-limits.test.ts`); here, that others do not notice. */
test('hundreds of clients that send a byte at a time, or do not read, do not slow others down', async () => {
  const server = await startEmbedded();
  const world = await rowsWorld(server);
  await newTable(world, 'wide', ['n:int', 'text:text']);
  const path = `${world.data}/wide`;
  const text = 'x'.repeat(1_000);
  await insertLines(
    world.owner,
    path,
    Array.from({ length: rowsCount }, (_, n) => ({ n, text })),
  );
  const before = await ask(world, path, askedForMs / 3);
  const filesBefore = openFiles(server.pid);

  const kinds = {
    heads: dripHead(world, path),
    bodies: dripBody(world, path),
    readers: readNothing(world, path),
  };
  const sockets = Object.values(kinds).flatMap((open) =>
    Array.from({ length: slowCount }, () => open(server.port)),
  );
  await until('all are connected', async () => sockets.every(({ socket }) => !socket.connecting), 30_000);
  const during = await ask(world, path, askedForMs);
  const atOnce = sockets.filter(({ socket }) => !socket.destroyed).length;
  console.log(
    `slow clients: ${sockets.length} connected, ${atOnce} left after ${askedForMs / 1000} s; others: ${before} before, ${during} beside them`,
  );
  expect([before.tally.except(200, 201), during.tally.except(200, 201)]).toEqual([[], []]);
  expect(during.p99).toBeLessThan(patientMs(250));
  // A client that has sent no whole request in ten seconds is cut off.
  const isOver = async () => sockets.slice(0, slowCount).every(({ socket }) => socket.destroyed);
  await until('clients that send heads byte by byte are cut off', isOver, 30_000);

  for (const { leave } of sockets) leave();
  await until('their connections are closed', async () => openFiles(server.pid) <= filesBefore + 20, 60_000);
  const database = openServerDatabase(server);
  const isIdle = async () => {
    const [row] = await database.query(
      `select count(*)::int as busy from pg_stat_activity where usename = 'svc_rows' and state <> 'idle'`,
    );
    return row?.busy === 0;
  };
  await until('no statement or transaction of theirs is left', isIdle, 90_000);
  await database.close();
  expect(await server.stop()).toBe(0);
});

const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

interface SlowClient {
  socket: Socket;
  leave(): void;
}
type Open = (port: number) => SlowClient;

const headOf = ({ owner }: RowsWorld, line: string, more = '') =>
  `${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${owner.token}\r\n${more}`;

/** Sends the first bytes at once and the others one by one. */
function drip(first: string, rest: string): Open {
  return (port) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(first));
    socket.on('error', () => {});
    socket.on('data', () => {});
    let at = 0;
    const timer = setInterval(() => {
      if (!socket.destroyed && at < rest.length) socket.write(rest[at++] ?? '');
    }, byteMs);
    socket.on('close', () => clearInterval(timer));
    return { socket, leave: () => socket.destroy() };
  };
}

const dripHead = (world: RowsWorld, path: string): Open => drip('GET ', headOf(world, `${path}?per_page=1`));

function dripBody(world: RowsWorld, path: string): Open {
  const body = JSON.stringify({ n: -1, text: 'x'.repeat(500) });
  const more = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return drip(headOf(world, `POST ${path}`, more), body);
}

/** Asks for all rows, six megabytes, and reads none of them. */
const readNothing =
  (world: RowsWorld, path: string): Open =>
  (port) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(headOf(world, `GET ${path}`, 'Accept: application/x-ndjson\r\n\r\n'));
      socket.pause();
    });
    socket.on('error', () => {});
    return { socket, leave: () => socket.destroy() };
  };

interface Asked {
  p99: number;
  tally: Tally;
  toString(): string;
}

/** Reads and writes of somebody else meanwhile. */
async function ask(world: RowsWorld, path: string, forMs: number): Promise<Asked> {
  const times: number[] = [];
  const tally = new Tally();
  const calls = [
    () => world.owner.call('GET', `${path}?per_page=5`),
    () => world.owner.call('POST', path, { n: 1, text: 'quick' }),
    () => world.owner.call('GET', `${path}?n=eq.7&per_page=1`),
    () => world.owner.call('GET', world.tables),
  ];
  let sent = 0;
  const asking = keepAsking(
    async () => {
      const begun = performance.now();
      const { status } = await calls[sent++ % calls.length]!();
      times.push(performance.now() - begun);
      tally.add(status);
    },
    { clients: 4, pauseMs: 20 },
  );
  await Bun.sleep(forMs); // The length of the measurement.
  await asking.stop();
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
  return { p99, tally, toString: () => `${times.length} answers, p99 ${p99.toFixed(1)} ms` };
}
