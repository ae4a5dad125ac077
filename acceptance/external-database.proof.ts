import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../scripts/free-port.ts';
import { useFixture } from '../scripts/use-fixture.ts';
import { admin, run, svcFor } from './support/commands.ts';
import { bearer, caller, done, newTenant } from './support/people.ts';
import { hasPostgres15, startPostgres15 } from './support/postgres15.ts';
import { rowsWorld } from './support/rows.ts';
import { folderOf, root, startServer } from './support/server.ts';
import { keepAsking } from './support/until.ts';

describe.if(hasPostgres15)('on an own PostgreSQL 15', () => {
  const postgres = useFixture(startPostgres15, (it) => it.stop());

  /** A new database, with the limits of statements that operators have by default. */
  async function newServerEnv() {
    const name = `db_${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
    await query(postgres.url('postgres'), `create database ${name}`);
    return { SVC_DATABASE_URL: postgres.url(name), SVC_DATABASE_PATIENCE: '1' };
  }

  test('the server starts, seeds, and the first admin logs in; an older version then refuses the schema', async () => {
    const env = await newServerEnv();
    const server = await startServer({ env });
    const svc = svcFor(server);
    expect((await svc(['login', '--local'])).code).toBe(0);
    expect((await svc(['whoami', '--json'])).json()).toMatchObject({
      user: { email: 'admin@demo.localhost' },
    });
    expect((await svc(['grants', 'mine', '--json'])).json<unknown>()).toEqual([]);
    expect(await admin<{ ok: boolean }>(server, ['doctor'])).toMatchObject({ ok: true });
    expect(await server.stop()).toBe(0);

    await query(
      env.SVC_DATABASE_URL,
      "insert into svc.migrations (name, checksum) values ('9999-later.sql', '')",
    );
    for (const program of ['main.ts', 'supervise.ts']) {
      const older = await run([process.execPath, join(root, 'server/src', program)], {
        env: { ...env, SVC_PORT: String(freePort()), SVC_DATA_DIR: server.dataDir },
      });
      expect([older.code, older.stderr]).toEqual([
        1,
        expect.stringContaining(
          'newer than this program: it has migration 9999-later.sql. Start the version',
        ),
      ]);
    }
  });

  test.each([
    ['ahead of', 2],
    ['behind', -2],
  ])(
    'a server whose clock is %s that of the database by two hours says what to do and does not start',
    async (relation, hours) => {
      const env = await newServerEnv();
      const clock = join(folderOf({ 'clock.ts': shiftClock(hours) }), 'clock.ts');
      const command = [process.execPath, `--preload=${clock}`, join(root, 'server/src/main.ts')];
      const outcome = await startServer({ env, command }).then(() => 'It started.', String);
      expect(outcome).toContain('The server ended with 1 before it was ready:');
      const reason = `^svc could not start: The clock of this machine is 7[12]\\d\\d s ${relation} the database's clock`;
      expect(outcome).toMatch(new RegExp(reason, 'm'));
      expect(outcome).toContain('Synchronize both with NTP, then start again.');
      const [{ migrations } = {}] = await query(
        env.SVC_DATABASE_URL,
        "select to_regclass('svc.migrations') as migrations",
      );
      expect(migrations).toBeNull();
    },
  );

  test('three servers that start at once share one database and seed it once', async () => {
    const env = await newServerEnv();
    const servers = await Promise.all([1, 2, 3].map(() => startServer({ env })));
    expect(servers.filter((server) => server.output().includes('Created tenant'))).toHaveLength(1);
    const t = await newTenant(servers[0]);
    for (const server of servers) {
      const answer = await fetch(`${server.baseUrl}${t.base}/me/grants`, {
        headers: { authorization: `Bearer ${t.member.token}` },
      });
      expect(answer.status).toBe(200);
    }
    await Promise.all(servers.map((server) => server.stop()));
  });

  test('one Idempotency-Key sent to two servers at once has one effect', async () => {
    const env = await newServerEnv();
    const [one, other] = await Promise.all([startServer({ env }), startServer({ env })]);
    const t = await newTenant(one);
    for (let round = 0; round < 10; round++) {
      const headers = {
        authorization: `Bearer ${t.admin.token}`,
        'content-type': 'application/json',
        'idempotency-key': Bun.randomUUIDv7(),
      };
      const body = JSON.stringify({ name: `round ${round}`, kind: 'http' });
      const answers = await Promise.all(
        [one, other].map((server) =>
          fetch(`${server.baseUrl}${t.base}/connectors`, { method: 'POST', headers, body }),
        ),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
      expect(statuses).toContain(201);
    }
    expect((await t.admin.call('GET', `${t.base}/connectors`)).body.total).toBe(10);
    await Promise.all([one.stop(), other.stop()]);
  });

  test('a row written at one server is read at the other at once, and a token revoked at one is refused at the other', async () => {
    const env = await newServerEnv();
    const servers = await Promise.all([startServer({ env }), startServer({ env })]);
    const world = await rowsWorld(servers[0]);
    const { path } = await world.table(['n:int']);
    for (let round = 0; round < 200; round++) {
      const [writer, reader] = round % 2 === 0 ? servers : servers.toReversed();
      const write = caller(writer!, bearer(world.owner), path);
      const read = caller(reader!, bearer(world.owner), path);
      const { id } = await done(write('POST', '', { n: round }));
      expect(await done(read('GET', `/${id}`))).toMatchObject({ n: round });
      await done(write('PATCH', `/${id}`, { n: 1_000 + round }));
      expect((await done(read('GET', `?id=${id}`))).data).toMatchObject([{ n: 1_000 + round }]);
      expect(await done(read('GET', '/_count'))).toMatchObject({ count: round + 1 });
    }

    let slowestMs = 0;
    for (let round = 0; round < 20; round++) {
      const [first, second] = round % 2 === 0 ? servers : servers.toReversed();
      const pats = caller(first!, bearer(world.owner), `${world.tenant.base}/pats`);
      const { id, secret } = await done(pats('POST', '', { name: `token ${round}`, actions: ['read'] }));
      const read = caller(second!, { 'x-api-key': secret }, path);
      expect((await read('GET', '?per_page=1')).status).toBe(200);
      await done(pats('DELETE', `/${id}`));
      const revokedAt = performance.now();
      let sentMs = 0;
      for (let status = 200; status === 200; ) {
        slowestMs = Math.max(slowestMs, sentMs);
        sentMs = performance.now() - revokedAt;
        status = (await read('GET', '?per_page=1')).status;
        expect([200, 401]).toContain(status);
        expect(sentMs).toBeLessThan(1_000);
      }
    }
    console.log(`copies: the last request with a revoked token began ${slowestMs.toFixed(1)} ms after it`);
    expect(await Promise.all(servers.map((server) => server.stop()))).toEqual([0, 0]);
  });

  test('the end of all database connections causes 503 at most, never a wrong response or the end of the server', async () => {
    const env = await newServerEnv();
    const { SVC_DATABASE_URL: url } = env;
    const server = await startServer({ env });
    const t = await newTenant(server);
    await t.admin.call('POST', `${t.base}/connectors`, { name: 'one', kind: 'http' });
    const statuses = new Map<number, number>();
    const ask = async () => {
      const { status, body } = await t.admin.call('GET', `${t.base}/connectors`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) expect(body.total).toBe(1);
    };
    const load = keepAsking(ask, { clients: 6 });
    for (let round = 0; round < 20; round++) {
      await query(
        url,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      await Bun.sleep(50); // The pace of the fault, not a wait for something.
    }
    await ready(server.baseUrl);
    await load.stop();
    expect([...statuses.keys()].filter((status) => ![200, 503].includes(status))).toEqual([]);
    expect(statuses.get(200)).toBeGreaterThan(0);
    const made = await t.admin.call('POST', `${t.base}/connectors`, { name: 'two', kind: 'http' });
    expect(made.status).toBe(201);
    expect(await server.stop()).toBe(0);
  });

  test('the role that serves rows has no access to the control plane', async () => {
    const env = await newServerEnv();
    const { SVC_DATABASE_URL: url } = env;
    const server = await startServer({ env });
    const [role] = await query<{ rolname: string }>(
      url,
      "select rolname from pg_roles where rolname like 'svc_rows%' and has_database_privilege(rolname, current_database(), 'connect')",
    );
    expect(role?.rolname).toBeTruthy();
    const [rights] = await query<{ may: boolean }>(
      url,
      `select has_schema_privilege('${role!.rolname}', 'svc', 'usage') as may`,
    );
    expect(rights?.may).toBe(false);
    await server.stop();
  });
});

/** A program that runs before the server's and gives it another clock. */
const shiftClock = (hours: number) => `const now = Date.now;
const shifted = () => now() + ${hours * 3_600_000};
globalThis.Date = class extends Date {
  static now = shifted;
  constructor(...at) {
    super(...(at.length === 0 ? [shifted()] : at));
  }
};`;

async function ready(baseUrl: string): Promise<void> {
  for (const deadline = Date.now() + 10_000; (await fetch(`${baseUrl}/readyz`)).status !== 200; ) {
    if (Date.now() > deadline) throw new Error('The server did not become ready again.');
  }
}

async function query<T extends pg.QueryResultRow>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}
