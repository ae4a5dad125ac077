import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { admin, run, svcFor } from './support/commands.ts';
import { databaseUrlOf } from './support/database.ts';
import { newPerson, newTenant } from './support/people.ts';
import {
  freePort,
  type RunningServer,
  root,
  type ServerOptions,
  startServer,
  temporaryFolder,
} from './support/server.ts';

/** These look at the embedded database itself, also when the rest of the suite runs on another. */
const embedded = { SVC_DATABASE_URL: '' };
const start = (options: ServerOptions = {}) =>
  startServer({ ...options, env: { ...embedded, ...options.env } });

const postmasterOf = (server: RunningServer) =>
  Number(readFileSync(join(server.dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('npm start', () => {
  test('says when it is ready, logs the first admin in without a browser, and stops cleanly when told', async () => {
    const server = await start({ command: ['npm', 'start'] });
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
      () => !isAlive(postmaster) && !existsSync(join(server.dataDir, 'postgres', 'postmaster.pid')),
    );
    expect(existsSync(join(server.dataDir, 'local-login.json'))).toBe(false);
  });

  test('a wrong setting is named before anything starts', async () => {
    const ran = await run([process.execPath, join(root, 'server/src/main.ts')], {
      env: { ...embedded, SVC_PORT: 'eighty', SVC_DATA_DIR: temporaryFolder() },
    });
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('SVC_PORT')]);
  });

  test('a port that is taken is named, and nothing is left running behind it', async () => {
    const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
    const dataDir = join(temporaryFolder(), 'data');
    const ran = await run([process.execPath, join(root, 'server/src/main.ts')], {
      env: { ...embedded, SVC_PORT: String(taken.port), SVC_DATA_DIR: dataDir },
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(String(taken.port));
    await taken.stop(true);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('with SVC_SEED=none makes no tenant, no user and no local login', async () => {
    const server = await start({ finds: 'nothing', env: { SVC_SEED: 'none' } });
    expect(await admin<{ items: unknown[] }>(server, ['tenants', 'list'])).toMatchObject({ items: [] });
    expect(existsSync(join(server.dataDir, 'local-login.json'))).toBe(false);
    expect((await svcFor(server)(['login', '--local'])).code).toBe(3);
    await server.stop();
  });
});

describe('a data dir', () => {
  test('keeps everything over a restart', async () => {
    const first = await start();
    const t = await newTenant(first);
    await first.stop();
    const second = await start({ dataDir: first.dataDir, port: first.port });
    expect(second.output()).not.toContain('Made tenant');
    expect((await t.member.call('GET', `${t.base}/me/grants`)).status).toBe(200);
    await second.stop();
    // Neither did anything to worry about when it was told to stop.
    for (const { output } of [first, second]) expect(output()).not.toMatch(/"level":"(?:warn|error|fatal)"/);
  });

  test('survives kill -9 of the server; the database it left running is taken over', async () => {
    const first = await start();
    const t = await newTenant(first);
    const postmaster = postmasterOf(first);
    first.signal('SIGKILL');
    await first.exited;
    expect(isAlive(postmaster)).toBe(true);
    const second = await start({ dataDir: first.dataDir, port: first.port });
    expect((await t.member.call('GET', `${t.base}/me/grants`)).status).toBe(200);
    await second.stop();
    expect(isAlive(postmaster)).toBe(false);
  });

  test('survives kill -9 of server and database together', async () => {
    const first = await start();
    const t = await newTenant(first);
    const postmaster = postmasterOf(first);
    process.kill(postmaster, 'SIGKILL');
    first.signal('SIGKILL');
    await first.exited;
    await until(() => !isAlive(postmaster));
    const second = await start({ dataDir: first.dataDir, port: first.port });
    expect((await t.member.call('GET', `${t.base}/me/grants`)).status).toBe(200);
    await second.stop();
  });

  test('when only the database is killed under load, requests get 503 and then answers again; nothing else', async () => {
    const server = await start();
    const t = await newTenant(server);
    const statuses = new Set<number>();
    let stopped = false;
    const load = Array.from({ length: 8 }, async () => {
      while (!stopped) statuses.add((await t.member.call('GET', `${t.base}/me/grants`)).status);
    });
    const postmaster = postmasterOf(server);
    process.kill(postmaster, 'SIGKILL');
    await until(() => !isAlive(postmaster));
    await until(async () => (await fetch(`${server.baseUrl}/readyz`)).status === 200, 20_000);
    expect((await t.admin.call('POST', `${t.base}/connectors`, { name: 'after', kind: 'http' })).status).toBe(
      201,
    );
    stopped = true;
    await Promise.all(load);
    expect(
      server
        .output()
        .split('\n')
        .filter((line) => line.includes('a fault of the server')),
    ).toEqual([]);
    expect([...statuses].filter((status) => ![200, 503, 504].includes(status))).toEqual([]);
    expect(statuses.has(200)).toBe(true);
    expect(await server.stop()).toBe(0);
  });

  test('serves one server at a time, and two data dirs never meet', async () => {
    const [one, other] = await Promise.all([start({ finds: 'nothing' }), start({ finds: 'nothing' })]);
    const refused = await run([process.execPath, join(root, 'server/src/main.ts')], {
      env: { ...one.env, SVC_PORT: String(freePort()) },
    });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(String(one.pid))]);
    const t = await newTenant(one);
    const elsewhere = await fetch(`${other.baseUrl}/api/v1/me`, {
      headers: { authorization: `Bearer ${t.admin.token}` },
    });
    expect(elsewhere.status).toBe(401);
    await Promise.all([one.stop(), other.stop()]);
  });

  test('holds no secret that others may read', async () => {
    const server = await start({ finds: 'nothing' });
    const { mode } = await Bun.file(join(server.dataDir, 'local-login.json')).stat();
    expect(mode & 0o077).toBe(0);
    for (const name of readdirSync(server.dataDir).filter((file) => /json|lock/.test(file))) {
      expect([name, (await Bun.file(join(server.dataDir, name)).stat()).mode & 0o007]).toEqual([name, 0]);
    }
    await server.stop();
  });
});

describe('stopping', () => {
  test('finishes every request under way, and what was acknowledged is there afterwards', async () => {
    const server = await start();
    const t = await newTenant(server);
    // Held in the middle of their work by a lock, so that all of them are under way when the signal comes.
    const holder = new pg.Client({ connectionString: databaseUrlOf(server) });
    await holder.connect();
    await holder.query('begin; lock table svc.connectors in share mode');
    const names = Array.from({ length: 15 }, (_, i) => `held ${i}`);
    const requests = names.map((name) =>
      t.admin.call('POST', `${t.base}/connectors`, { name, kind: 'http' }),
    );
    await until(async () => {
      // Inside a transaction it would show the same moment again and again.
      await holder.query('select pg_stat_clear_snapshot()');
      const { rows } = await holder.query(
        "select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'svc control'",
      );
      return rows[0].waiting === names.length;
    });
    server.signal('SIGTERM');
    await until(() => isClosed(server.port));
    await holder.query('commit');
    await holder.end();
    expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(names.map(() => 201));
    expect(await server.exited).toBe(0);
    const again = await start({ dataDir: server.dataDir, port: server.port });
    expect((await t.admin.call('GET', `${t.base}/connectors`)).body.total).toBe(names.length);
    await again.stop();
  });

  test('a second signal ends it at once', async () => {
    const server = await start();
    const person = await newPerson(server);
    expect(person.id).toBeTruthy();
    // A request that never ends keeps the first signal waiting.
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
    expect(Date.now() - begun).toBeLessThan(2_000);
    await until(() => !isAlive(postmaster));
    await hanging;
  });
});

async function until(condition: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  for (const deadline = Date.now() + ms; !(await condition()); await Bun.sleep(20)) {
    if (Date.now() > deadline) throw new Error('It did not come true in time.');
  }
}

/** Whether nobody takes new connections there; those that are open do not count. */
function isClosed(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => resolve(true));
  });
}
