import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../scripts/free-port.ts';
import { patientMs } from '../scripts/patience.ts';
import { connectClient } from '../server/src/http/raw-http/testing.ts';
import { run, svcFor } from './support/commands.ts';
import { databaseUrlOf } from './support/database.ts';
import { newPerson, newTenant, type Tenant } from './support/people.ts';
import {
  isAlive,
  postmasterOf,
  type RunningServer,
  root,
  startEmbedded,
  temporaryFolder,
} from './support/server.ts';
import { keepAsking, until } from './support/until.ts';

describe('npm start', () => {
  test('prints when it is ready, logs the first admin in without a browser, and stops cleanly on a signal', async () => {
    const server = await startEmbedded({ command: ['npm', 'start'], readyMs: 200_000 });
    expect(server.output()).toMatch(/^svc is ready on http:\/\/localhost:\d+$/m);
    expect((await fetch(`${server.baseUrl}/readyz`)).status).toBe(200);
    const svc = svcFor(server);
    expect((await svc(['login', '--local'])).code).toBe(0);
    expect((await svc(['whoami', '--json'])).json()).toMatchObject({
      user: { email: 'admin@demo.localhost' },
    });
    expect((await svc(['grants', 'mine', '--json'])).json<unknown>()).toEqual([]);
    const postmaster = postmasterOf(server);
    await server.stop();
    await until(
      'PostgreSQL has stopped',
      async () => !isAlive(postmaster) && !existsSync(join(server.dataDir, 'postgres', 'postmaster.pid')),
    );
    expect(existsSync(join(server.dataDir, 'local-login.json'))).toBe(false);
  });

  test('when npm is killed, the server ends its requests and stops cleanly', async () => {
    const server = await startEmbedded({ command: ['npm', 'start'], readyMs: 200_000 });
    const t = await newTenant(server);
    const holder = new pg.Client({ connectionString: databaseUrlOf(server) });
    await holder.connect();
    await holder.query('begin; lock table svc.connectors in share mode');
    const request = t.admin.call('POST', `${t.base}/connectors`, { name: 'held', kind: 'http' });
    await until('the request waits for the lock', () => areWaiting(holder, 1));
    const postmaster = postmasterOf(server);
    server.signal('SIGKILL');
    await until('the listener is closed', () => isClosed(server.port), 20_000);
    // Longer than it takes to notice the loss of the parent again.
    await Bun.sleep(2_500);
    await holder.query('commit');
    await holder.end();
    expect((await request).status).toBe(201);
    await until('PostgreSQL has stopped', async () => !isAlive(postmaster), 30_000);
    expect(existsSync(join(server.dataDir, 'local-login.json'))).toBe(false);
  });

  test('a wrong setting is named before anything starts', async () => {
    const ran = await run([process.execPath, join(root, 'server/src/main.ts')], {
      env: { SVC_DATABASE_URL: '', SVC_PORT: 'eighty', SVC_DATA_DIR: temporaryFolder() },
    });
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('SVC_PORT')]);
  });

  test('a port in use is named, and no process is left running', async () => {
    const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
    const dataDir = join(temporaryFolder(), 'data');
    const ran = await run([process.execPath, join(root, 'server/src/main.ts')], {
      env: { SVC_DATABASE_URL: '', SVC_PORT: String(taken.port), SVC_DATA_DIR: dataDir },
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(String(taken.port));
    await taken.stop(true);
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('the supervisor', () => {
  const start = (env: Record<string, string>) =>
    run([process.execPath, join(root, 'server/src/supervise.ts')], { env });

  test.each(['SVC_PORT', 'SVC_METRICS_PORT'])(
    'names %s when it is in use, before anything is set up',
    async (name) => {
      const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
      const dataDir = join(temporaryFolder(), 'data');
      const env = { SVC_DATABASE_URL: '', SVC_PORT: String(freePort()), SVC_DATA_DIR: dataDir };
      const ran = await start({ ...env, [name]: String(taken.port) });
      await taken.stop(true);
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(`set ${name} to another port`)]);
      expect(existsSync(dataDir)).toBe(false);
    },
  );

  test('says what to do when it may open too few files, before anything is set up', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const program = `ulimit -n 256; exec ${process.execPath} ${join(root, 'server/src/supervise.ts')}`;
    const env = { SVC_DATABASE_URL: '', SVC_PORT: String(freePort()), SVC_DATA_DIR: dataDir };
    const ran = await run(['sh', '-c', program], { env });
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('ulimit -n 65536')]);
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('a data dir', () => {
  test('keeps all data over a restart', async () => {
    const first = await startEmbedded();
    const t = await newTenant(first);
    await first.stop();
    const second = await startEmbedded({ dataDir: first.dataDir, port: first.port });
    expect(second.output()).not.toContain('Created tenant');
    expect((await t.member.call('GET', `${t.base}/me/grants`)).status).toBe(200);
    await second.stop();
    // Neither logged a problem when it was stopped.
    for (const { output } of [first, second]) expect(output()).not.toMatch(/"level":"(?:warn|error|fatal)"/);
  });

  test('when only the database is killed under load, requests get 503 and succeed again afterwards', async () => {
    const server = await startEmbedded();
    const t = await newTenant(server);
    const statuses = new Set<number>();
    const asking = [
      keepAsking(async () => statuses.add((await t.member.call('GET', `${t.base}/me/grants`)).status), {
        clients: 8,
      }),
    ];
    // Pages of other origins can read every answer: those of the OpenID provider too, which loads while it is down.
    const { paths, isUnreadable } = await crossOriginPaths(server, t);
    const unreadable = new Set<string>();
    const ask = async (method: string, path: string, body?: string) => {
      const form = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost:5173' };
      const answer = await t.member.call(method, path, body, form);
      if (isUnreadable(answer.headers)) unreadable.add(`${answer.status} ${method} ${path}`);
      return answer.status;
    };
    for (const { path, wrong } of paths) {
      for (const method of wrong) await ask(method, path);
      await ask('GET', `${path}/no/such/path`);
    }
    const tooLarge = 'x='.padEnd(40_000_000, 'x');
    for (const path of ['/oauth/token', `/data/${t.slug}/app/table`])
      expect([400, 404, 413]).toContain(await ask('POST', path, tooLarge));
    let asked = 0;
    const operations: [method: string, path: string, body?: string][] = [
      ['POST', '/oauth/token/revocation', `client_id=${Bun.randomUUIDv7()}&token=x`],
      ...paths.flatMap(({ path, methods }) =>
        methods.map((method): [string, string, string?] => [
          method,
          path,
          method === 'GET' ? undefined : 'x=y',
        ]),
      ),
    ];
    const askNext = () => ask(...operations[asked++ % operations.length]!);
    asking.push(keepAsking(askNext, { clients: 4 }));
    const postmaster = postmasterOf(server);
    process.kill(postmaster, 'SIGKILL');
    await until('PostgreSQL has ended', async () => !isAlive(postmaster));
    const isReady = async () => (await fetch(`${server.baseUrl}/readyz`)).status === 200;
    await until('the server is ready again', isReady, 20_000);
    let tries = 0;
    const isChanged = async () => {
      const connector = { name: `after-${++tries}`, kind: 'http' };
      return (await t.admin.call('POST', `${t.base}/connectors`, connector)).status === 201;
    };
    await until('changes succeed again', isChanged, 20_000);
    await until('each operation was called', async () => asked > operations.length, 60_000);
    await Promise.all(asking.map((each) => each.stop()));
    expect(
      server
        .output()
        .split('\n')
        .filter((line) => line.includes('internal server error')),
    ).toEqual([]);
    expect([...statuses].filter((status) => ![200, 503, 504].includes(status))).toEqual([]);
    expect(statuses.has(200)).toBe(true);
    expect([...unreadable]).toEqual([]);
    expect(await server.stop()).toBe(0);
  });

  test('stores no secret that others may read', async () => {
    const server = await startEmbedded({ finds: 'nothing' });
    const { mode } = await Bun.file(join(server.dataDir, 'local-login.json')).stat();
    expect(mode & 0o077).toBe(0);
    for (const name of readdirSync(server.dataDir).filter((file) => /json|lock/.test(file))) {
      expect([name, (await Bun.file(join(server.dataDir, name)).stat()).mode & 0o007]).toEqual([name, 0]);
    }
    await server.stop();
  });
});

describe('stopping', () => {
  test('finishes every running request on a signal, and acknowledged data is stored', async () => {
    const server = await startEmbedded();
    const t = await newTenant(server);
    // A lock blocks the requests, so that all of them are in progress when the signal comes.
    const holder = new pg.Client({ connectionString: databaseUrlOf(server) });
    await holder.connect();
    await holder.query('begin; lock table svc.connectors in share mode');
    const names = Array.from({ length: 15 }, (_, i) => `held ${i}`);
    const requests = names.map((name) =>
      t.admin.call('POST', `${t.base}/connectors`, { name, kind: 'http' }),
    );
    await until('all requests wait for the lock', () => areWaiting(holder, names.length));
    server.signal('SIGTERM');
    await until('the listener is closed', () => isClosed(server.port));
    await holder.query('commit');
    await holder.end();
    expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(names.map(() => 201));
    expect(await server.exited).toBe(0);
    const again = await startEmbedded({ dataDir: server.dataDir, port: server.port });
    expect((await t.admin.call('GET', `${t.base}/connectors`)).body.total).toBe(names.length);
    await again.stop();
  });

  test('answers 503 to /readyz on an open connection while a request is still in progress, and then closes it', async () => {
    const server = await startEmbedded();
    const t = await newTenant(server);
    // As a load balancer asks: one connection for many requests.
    const connection = await connectClient(server.port);
    const ask = 'GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n';
    connection.send(ask);
    const ready = await connection.until('{"status":"ready"}');
    expect(ready).toStartWith('HTTP/1.1 200 ');
    expect(ready).not.toMatch(/^connection: close\r$/im);

    const holder = new pg.Client({ connectionString: databaseUrlOf(server) });
    await holder.connect();
    await holder.query('begin; lock table svc.connectors in access exclusive mode');
    const slow = t.admin.call('GET', `${t.base}/connectors`);
    await until('the request waits for the lock', () => areWaiting(holder, 1));
    server.signal('SIGTERM');
    await until('the listener is closed', () => isClosed(server.port));
    connection.send(ask);
    const stopping = (await connection.closed()).slice(ready.length);
    expect(stopping).toStartWith('HTTP/1.1 503 ');
    expect(stopping).toMatch(/^connection: close\r$/im);
    expect(await areWaiting(holder, 1)).toBe(true);
    await holder.query('commit');
    await holder.end();
    expect((await slow).status).toBe(200);
    expect(await server.exited).toBe(0);
  });

  test('a second signal stops it immediately', async () => {
    const server = await startEmbedded();
    const person = await newPerson(server);
    expect(person.id).toBeTruthy();
    // A request that never ends delays the graceful stop.
    const hanging = fetch(`${server.baseUrl}/api/v1/me`, {
      method: 'PUT',
      body: new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array([1])) }),
      headers: { 'content-type': 'application/json' },
    }).catch(() => {});
    const postmaster = postmasterOf(server);
    server.signal('SIGTERM');
    await Bun.sleep(700); // Signals closer together than half a second count as one.
    const begun = Date.now();
    server.signal('SIGTERM');
    await server.exited;
    expect(Date.now() - begun).toBeLessThan(patientMs(2_000));
    await until('PostgreSQL has ended', async () => !isAlive(postmaster));
    await hanging;
  });
});

/** The paths of the document that pages of other origins use, with their methods and some that they do not have. */
async function crossOriginPaths({ baseUrl }: RunningServer, { slug }: Tenant) {
  const document = await (await fetch(`${baseUrl}/api/v1/openapi.json`)).json();
  const found = Object.entries<object>(document.paths).filter(([path]) => /^\/(?:oauth|data)\//.test(path));
  const paths = found.map(([path, item]) => {
    const has = (method: string) => method.toLowerCase() in item;
    const all = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
    return {
      path: path.replaceAll(/\{\w+\}/g, (name) => (name === '{tenant}' ? slug : 'absent')),
      methods: all.filter(has),
      wrong: all.filter((method) => !has(method)),
    };
  });
  expect(paths.length).toBeGreaterThan(20);
  // The OpenID provider decides for each client which origin may read an answer.
  const isUnreadable = (headers: Headers) =>
    !headers.has('access-control-allow-origin') && !/\borigin\b/i.test(headers.get('vary') ?? '');
  return { paths, isUnreadable };
}

/** Whether that many requests wait for a lock. */
async function areWaiting(client: pg.Client, count: number): Promise<boolean> {
  // Inside a transaction the statistics never change.
  await client.query('select pg_stat_clear_snapshot()');
  const { rows } = await client.query(
    "select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'svc control'",
  );
  return rows.length === count;
}

/** Whether the port refuses new connections; open ones do not count. */
function isClosed(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => resolve(true));
  });
}
