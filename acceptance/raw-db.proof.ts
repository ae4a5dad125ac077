import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { useFixture } from '../scripts/use-fixture.ts';
import { admin, run, type Svc, svcFor } from './support/commands.ts';
import { openServerDatabase, queryUrl, type ServerDatabase } from './support/database.ts';
import { newApp } from './support/people.ts';
import { hasPostgres15, startPostgres15 } from './support/postgres15.ts';
import { root, startServer } from './support/server.ts';
import { until } from './support/until.ts';
import { newWorld, type World } from './support/world.ts';

interface RawDb {
  enabled: boolean;
  status: string;
  database: string | null;
  host: string | null;
  port: number | null;
  connections_max: number | null;
  connection_string?: string;
  changed?: false;
  warnings?: string[];
}

let world: World;
let database: ServerDatabase;
let svc: Svc;

// A server of its own, on the embedded database, that logs all it can.
beforeAll(async () => {
  world = await newWorld(await startServer({ env: { SVC_LOG_LEVEL: 'debug', SVC_DATABASE_URL: '' } }));
  database = openServerDatabase(world.tenant.server);
  svc = svcOf(world);
  await enable(await ownApp());
});
afterAll(() => database?.close());

const svcOf = ({ tenant, people }: World) =>
  svcFor(tenant.server, { token: people.O.token, tenant: tenant.slug });
const ownApp = async ({ tenant, people } = world) =>
  (await newApp(tenant, { owner: people.O, coOwner: people.C })).slug;
const rawDb = (args: string[], app: string) => svc(['apps', 'raw-db', ...args, '--app', app, '--json']);

async function enable(app: string): Promise<RawDb & { connection_string: string }> {
  const ran = await rawDb(['enable', '--execute'], app);
  expect([ran.code, ran.stdout !== '']).toEqual([0, true]);
  return ran.json<RawDb & { connection_string: string }>();
}

/** The code with which PostgreSQL, or the way to it, refuses. */
const refusal = (url: string, text = 'select 1') =>
  queryUrl(url, text).then(
    () => 'none',
    (error: { code?: string }) => error.code,
  );
const passwords = (): Record<'superuser' | 'control' | 'rows', string> =>
  JSON.parse(readFileSync(join(world.tenant.server.dataDir, 'raw', 'postgres.json'), 'utf8'));
/** By the private socket, past the gate. */
const direct = (user: string, password: string, name: string) =>
  `postgresql://${user}:${password}@localhost/${name}?host=${encodeURIComponent(join(world.tenant.server.dataDir, 'raw', 'run'))}`;
const asSuperuser = (text: string) => queryUrl(direct('postgres', passwords().superuser, 'postgres'), text);
const inside = (url: string, pathname: string) => Object.assign(new URL(url), { pathname }).href;

describe('svc apps raw-db', () => {
  test('previews, creates a database whose connection string works immediately, and repeats without a change', async () => {
    const app = await ownApp();
    const preview = await rawDb(['enable'], app);
    expect(preview.json<{ plan: object }>().plan).toMatchObject({
      operation: 'rawDb.enable',
      target: { kind: 'raw_database', name: app },
    });
    expect((await rawDb(['status'], app)).json()).toMatchObject({ enabled: false, status: 'none' });

    const { connection_string: url, warnings, ...record } = await enable(app);
    expect(warnings).toEqual([expect.stringContaining('only once')]);
    expect(record).toMatchObject({ enabled: true, status: 'ready', host: '127.0.0.1', connections_max: 10 });
    expect(url).toStartWith(`postgresql://${record.database}:`);
    await queryUrl(url, 'create table pets (name text); insert into pets values ($$Rex$$)');
    expect(await queryUrl(url, 'select name from pets')).toEqual([{ name: 'Rex' }]);

    const again = await rawDb(['enable', '--execute'], app);
    expect([again.code, again.json<RawDb>()]).toEqual([0, { ...record, changed: false } as RawDb]);
    const status = await rawDb(['status'], app);
    expect([status.stderr, status.json<RawDb>()]).toEqual(['', record as RawDb]);
    expect(await queryUrl(url, 'select name from pets')).toEqual([{ name: 'Rex' }]);
  });

  test('changes the password: the old connection string ends, the new one is printed once and works', async () => {
    const app = await ownApp();
    const { connection_string: url } = await enable(app);
    await queryUrl(url, 'create table kept (a int)');
    expect((await rawDb(['rotate'], app)).json<{ dry_run: boolean }>().dry_run).toBe(true);
    await queryUrl(url, 'select * from kept');
    const rotated = await rawDb(['rotate', '--execute'], app);
    const { connection_string: renewed, warnings: _, ...record } = rotated.json<RawDb>();
    expect([rotated.code, record.status]).toEqual([0, 'ready']);
    expect(await refusal(url)).toBe('28P01');
    await queryUrl(renewed!, 'select * from kept');
    expect((await rawDb(['status'], app)).json<RawDb>()).toEqual(record as RawDb);
  });

  test('locks out a former owner who knows the connection string', async () => {
    const app = await ownApp();
    const { connection_string: url } = await enable(app);
    const { C, O } = world.people;
    const path = `${world.tenant.base}/apps/${app}`;
    const handed = await world.as.O('POST', `${path}/ownership/transfer`, { to: C.id });
    expect(handed.status).toBe(200);
    // Still an owner beside the new one.
    await queryUrl(url, 'select 1');
    expect((await world.as.C('DELETE', `${path}/co-owners/${O.id}`)).status).toBe(204);
    await until('it is shut out', async () => (await refusal(url)) === '28P01');
  });

  test('previews that it cannot be undone; --execute drops the database without further questions', async () => {
    const app = await ownApp();
    const { connection_string: url, database: name } = await enable(app);
    const preview = (await rawDb(['disable'], app)).json<{ plan: Record<string, unknown> }>().plan;
    expect([preview.irreversible, (preview.warnings as string[]).length]).toEqual([true, 1]);
    await queryUrl(url, 'select 1');

    const gone = await rawDb(['disable', '--execute'], app);
    expect([gone.code, gone.json<RawDb>()]).toMatchObject([
      0,
      { enabled: false, status: 'none', database: null },
    ]);
    expect(await refusal(url)).toBe('28000');
    expect(await asSuperuser(`select from pg_database where datname = '${name}'`)).toEqual([]);
    expect(await asSuperuser(`select from pg_roles where rolname = '${name}'`)).toEqual([]);
    const repeat = await rawDb(['disable', '--execute'], app);
    expect([repeat.code, repeat.json<RawDb>().changed]).toEqual([0, false]);
    const { connection_string: renewed } = await enable(app);
    expect(
      await queryUrl(renewed, "select count(*)::int as n from pg_tables where schemaname = 'public'"),
    ).toEqual([{ n: 0 }]);
  });

  test('prints the connection string also when the wait for the database times out: exit 10', async () => {
    const app = await ownApp();
    const holder = new pg.Client({ connectionString: direct('postgres', passwords().superuser, 'postgres') });
    await holder.connect();
    // No role can be made meanwhile.
    await holder.query('begin; lock table pg_catalog.pg_authid in share row exclusive mode');
    const ran = await rawDb(['enable', '--execute', '--timeout', '2s'], app);
    const { connection_string: url, status } = ran.json<RawDb>();
    expect([ran.code, status]).toEqual([10, 'creating']);
    expect(ran.stderr).toContain('svc apps raw-db status');
    await holder.query('rollback');
    await holder.end();
    await until('it is ready', async () => (await rawDb(['status'], app)).json<RawDb>().status === 'ready');
    await queryUrl(url!, 'select 1');
  });

  test('is for the owner only, with a login; co-owners and admins can read its status', async () => {
    const app = await ownApp();
    const base = `${world.tenant.base}/apps/${app}/raw-db`;
    for (const letter of ['C', 'A', 'M', 'P', 'N', 'X'] as const) {
      const [enabling, disabling] = [
        await world.as[letter]('POST', `${base}/enable`),
        await world.as[letter]('POST', `${base}/disable`),
      ];
      const code = { C: 'forbidden', A: 'forbidden', P: 'login_required', N: 'unauthenticated' }[
        letter as 'C'
      ];
      for (const { body } of [enabling, disabling])
        expect([letter, body.code]).toEqual([letter, code ?? 'not_found']);
    }
    for (const letter of ['O', 'C', 'A'] as const)
      expect((await world.as[letter]('GET', base)).body.status).toBe('none');
  });
});

describe('the database of an app', () => {
  test('has no access to the control plane or other apps, with any login', async () => {
    const [mine, other] = [await enable(await ownApp()), await enable(await ownApp())];
    const url = mine.connection_string;
    for (const name of ['svc', 'postgres', 'template1', other.database ?? ''])
      expect([name, await refusal(inside(url, `/${name}`))]).toEqual([name, '28000']);
    // Also past the gate, PostgreSQL itself refuses it.
    const { username, password } = new URL(url);
    for (const name of ['svc', 'postgres', 'template1', other.database ?? ''])
      expect([name, await refusal(direct(username, password, name))]).toEqual([name, '42501']);
    const { superuser, control } = passwords();
    for (const [user, secret] of Object.entries({ postgres: superuser, svc_control: control })) {
      const through = Object.assign(new URL(inside(url, '/svc')), { username: user, password: secret }).href;
      expect([user, await refusal(through)]).toEqual([user, '28000']);
    }
  });

  test('of a deleted app accepts no connection, and is complete again when the app is restored', async () => {
    const app = await ownApp();
    const { connection_string: url } = await enable(app);
    await queryUrl(url, 'create table kept (a int)');
    const path = `${world.tenant.base}/apps/${app}`;
    expect((await world.as.O('DELETE', path)).status).toBe(200);
    await until('nobody is let in', async () => (await refusal(url)) === '28000');
    expect((await world.as.O('GET', `${path}/raw-db`)).body).toMatchObject({
      enabled: true,
      status: 'closed',
    });
    expect((await world.as.O('POST', `${path}/raw-db/disable`)).status).toBe(404);
    expect((await world.as.O('POST', `${path}/restore`)).status).toBe(200);
    await until('it is ready', async () => (await rawDb(['status'], app)).json<RawDb>().status === 'ready');
    expect(await queryUrl(url, 'select count(*)::int as n from kept')).toEqual([{ n: 0 }]);
  });

  test('can exhaust its resources while all other requests succeed', async () => {
    const [one, other] = [await enable(await ownApp()), await enable(await ownApp())];
    const client = new pg.Client({ connectionString: one.connection_string });
    await client.connect();
    const code = await client.query('select pg_advisory_lock(i) from generate_series(1, 100000) i').then(
      () => 'none',
      (error: { code?: string }) => error.code,
    );
    // As long as the session lives, no lock is left on that server.
    expect(code).toBe('53200');
    expect(await refusal(other.connection_string, 'create table more (a int)')).toBe('53200');
    for (let request = 0; request < 5; request++)
      expect((await world.as.O('GET', `${world.tenant.base}/apps`)).status).toBe(200);
    await ownApp();
    await client.end();
  });

  test('accepts connections up to its limit', async () => {
    const { connection_string: url, connections_max } = await enable(await ownApp());
    const clients = Array.from({ length: connections_max! }, () => new pg.Client({ connectionString: url }));
    for (const client of clients) await client.connect();
    expect(await refusal(url)).toBe('53300');
    await Promise.all(clients.map((client) => client.end()));
  });

  test('has its password in no log, in no audit entry and in no status', async () => {
    const app = await ownApp();
    const { connection_string: url } = await enable(app);
    const { password } = new URL(url);
    await refusal(url, 'select 1 / 0');
    expect((await rawDb(['disable', '--execute', '--yes'], app)).stdout).not.toContain(password);
    const { server } = world.tenant;
    const audit = await world.as.A('GET', `${world.tenant.base}/audit?action=rawDb.enable&per_page=200`);
    expect(audit.body.items.length).toBeGreaterThan(0);
    const logs = [join(server.dataDir, 'postgres.log'), join(server.dataDir, 'raw', 'postgres.log')];
    const texts = { server: server.output(), log: logs.map((path) => readFileSync(path, 'utf8')).join() };
    for (const [where, text] of Object.entries({ ...texts, audit: JSON.stringify(audit.body) }))
      expect([where, text.includes(password)]).toEqual([where, false]);
    for (const [table, rows] of Object.entries(await database.rows()))
      expect([table, rows.some((row) => row.includes(password))]).toEqual([table, false]);
  });

  test('is available after it is enabled, and after a restart with the same connection string', async () => {
    const env = { SVC_DATABASE_URL: '' };
    const server = await startServer({ env });
    const own = await newWorld(server);
    const app = await ownApp(own);
    const line = ['apps', 'raw-db', 'enable', '--app', app, '--execute', '--json'];
    const portFile = join(server.dataDir, 'raw-db.port');
    expect(existsSync(portFile)).toBe(false);
    // A preview sets no database up.
    const preview = await svcOf(own)(line.filter((word) => word !== '--execute'));
    expect(preview.json<{ dry_run: boolean }>().dry_run).toBe(true);
    expect(existsSync(join(server.dataDir, 'raw'))).toBe(false);
    const url = (await svcOf(own)(line)).json<RawDb>().connection_string!;
    expect(new URL(url).port).toBe(readFileSync(portFile, 'utf8').trim());
    const { checks } = await admin<{ checks: { name: string; status: string; detail: string }[] }>(server, [
      'doctor',
    ]);
    expect(checks.find(({ name }) => name === 'raw databases')).toMatchObject({
      status: 'ok',
      detail: 'Apps with their own database: 1. All exist.',
    });
    await queryUrl(url, 'create table kept (a int)');
    expect(await server.stop()).toBe(0);
    expect(await refusal(url)).not.toBe('none');
    const again = await startServer({ env, dataDir: server.dataDir, port: server.port });
    expect(await queryUrl(url, 'select count(*)::int as n from kept')).toEqual([{ n: 0 }]);
    expect(await again.stop()).toBe(0);
  });
});

describe.if(hasPostgres15)('on an own PostgreSQL 15', () => {
  const postgres = useFixture(startPostgres15, (it) => it.stop());

  test('enabling is refused while others’ databases are open to every login, and works once they are closed', async () => {
    const asAdmin = postgres.url('postgres');
    for (const name of ['control', 'payroll']) await queryUrl(asAdmin, `create database ${name}`);
    const server = await startServer({ env: { SVC_DATABASE_URL: postgres.url('control') } });
    const own = await newWorld(server);
    const app = await ownApp(own);
    const line = ['apps', 'raw-db', 'enable', '--app', app, '--execute', '--json'];
    const refused = await svcOf(own)(line);
    expect([refused.code, JSON.parse(refused.stderr).code]).toEqual([6, 'raw_db_unavailable']);
    expect(refused.stderr).not.toContain('payroll');
    const [help] =
      /revoke connect on database [^;]* from public;/.exec(server.output().replaceAll('\\', '')) ?? [];
    expect(help).toBe('revoke connect on database "payroll" from public;');
    await queryUrl(asAdmin, help!);

    const { connection_string: url, ...record } = (await svcOf(own)(line)).json<RawDb>();
    expect(record).toMatchObject({ status: 'ready', host: '127.0.0.1', port: Number(new URL(asAdmin).port) });
    await queryUrl(url!, 'create table mine (a int)');
    for (const name of ['control', 'postgres', 'template1', 'payroll'])
      expect([name, await refusal(inside(url!, `/${name}`))]).toEqual([name, '42501']);
    expect((await svcOf(own)(['apps', 'raw-db', 'disable', '--app', app, '--execute'])).code).toBe(0);
    expect(await refusal(url!)).toBe('28P01');
    expect(await server.stop()).toBe(0);
  });
});

test('the commands are in the help', async () => {
  const help = await run([join(root, 'svc'), 'apps', 'raw-db', '--help']);
  for (const word of ['enable', 'rotate', 'disable', 'status']) expect(help.stdout).toContain(word);
});
