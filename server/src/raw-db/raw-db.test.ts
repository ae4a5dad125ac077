import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { rawDbConnectionsMax } from '@svc/contract/raw-db.ts';
import { sql } from 'kysely';
import pg from 'pg';
import { query, codeOf as sqlCodeOf } from '../drivers/database/testing.ts';
import { setMember } from '../tenants/set-member.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { closeRawDatabase, reopenRawDatabase } from './close-raw-database.ts';
import { keepAddress } from './keep-address.ts';
import { purgeRawDatabase } from './purge-raw-database.ts';
import { rawDatabaseEnv } from './raw-database-env.ts';
import { resizeRawDatabase } from './resize-raw-database.ts';
import { rotateRawDbsKnownTo } from './rotate-known-to.ts';
import { settleRawDb } from './settle-raw-db.ts';
import { type RawWorld, rawOn, rawWorld } from './testing.ts';

setDefaultTimeout(30_000);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  const raw = rawOn(database);
  for (const name of await onServer()) await raw.underLock(name, (hands) => hands.drop());
  await database.close();
});

/** Every raw database and raw role that the server has. */
async function onServer(): Promise<string[]> {
  const rows = await query(
    database.adminUrl,
    `select datname as name from pg_database where datname ~ '^svc_raw_'
     union select rolname from pg_roles where rolname ~ '^svc_raw_'`,
  );
  return rows.map(({ name }) => name);
}

const rowsOf = async ({ app }: RawWorld) =>
  (
    await sql<{ state: string }>`select * from svc.raw_databases where app_id = ${app.id}`.execute(
      database.db,
    )
  ).rows;

/** One that is enabled and ready. */
async function enabled(): Promise<RawWorld & { url: string; name: string }> {
  const world = await rawWorld(database);
  const { body } = await world.call('POST', '/enable');
  await world.settle();
  return { ...world, url: body.connection_string, name: body.database };
}

test('enabling hands the connection string over once, and it works when the status is ready', async () => {
  const { app, call, settle } = await rawWorld(database);
  const none = { enabled: false, status: 'none', database: null, role: null, host: null, port: null };
  expect((await call('GET', '')).body).toEqual({ ...none, connections_max: null, enabled_at: null });
  const { status, body } = await call('POST', '/enable');
  const { connection_string: url, ...record } = body;
  expect([status, record]).toEqual([
    200,
    {
      enabled: true,
      status: 'creating',
      database: expect.stringMatching(/^svc_raw_[0-9a-f]{32}$/),
      role: record.database,
      host: expect.stringContaining('/run'),
      port: 5432,
      connections_max: rawDbConnectionsMax.S,
      enabled_at: expect.stringMatching(/Z$/),
    },
  ]);
  expect(record.database).not.toContain(app.slug);
  expect((await call('GET', '')).body).toEqual(record);
  expect(await settle()).toBe(1);
  await query(url, 'create table pets (name text); insert into pets values ($$Rex$$)');
  expect(await query(url, 'select name from pets')).toEqual([{ name: 'Rex' }]);

  const ready = { ...record, status: 'ready' };
  expect((await call('GET', '')).body).toEqual(ready);
  expect((await call('POST', '/enable')).body).toEqual({ ...ready, changed: false });
  expect(await settle()).toBe(0);
});

test('the app’s environment has the same string, and nothing where there is no database', async () => {
  const { app, tenant, url, call, settle } = await enabled();
  const of = { tenantId: tenant.id, appId: app.id };
  expect(await rawDatabaseEnv(database.db, of)).toEqual({ DATABASE_URL: url });
  expect(await rawDatabaseEnv(database.db, { ...of, tenantId: Bun.randomUUIDv7() })).toEqual({});
  await call('POST', '/disable');
  expect(await rawDatabaseEnv(database.db, of)).toEqual({});
  await settle();
  expect(await rawDatabaseEnv(database.db, of)).toEqual({});
});

test('a preview makes no role, no database, no row and no effect', async () => {
  const world = await rawWorld(database);
  const before = await onServer();
  const { body } = await world.call('POST', '/enable?dry_run=true');
  expect(body.plan).toMatchObject({
    operation: 'rawDb.enable',
    irreversible: false,
    target: { kind: 'raw_database', id: world.app.id, name: world.app.slug },
    changes: [
      { path: 'enabled', before: null, after: true, effect: 'create' },
      { path: 'connections_max', before: null, after: 10 },
      { path: 'enabled_at', before: null, after: '(time of execution)' },
    ],
  });
  expect(JSON.stringify(body)).not.toContain('postgresql:');
  expect([await rowsOf(world), await world.settle(), await onServer()]).toEqual([[], 0, before]);

  const made = await enabled();
  const drop = await made.call('POST', '/disable?dry_run=true');
  expect(drop.body.plan).toMatchObject({ operation: 'rawDb.disable', irreversible: true });
  expect(drop.body.plan.warnings).toHaveLength(1);
  expect(await made.settle()).toBe(0);
  await query(made.url, 'select 1');
});

test('disabling drops everything for good; a repeat says that it changed nothing', async () => {
  const { call, settle, url, name } = await enabled();
  const dropping = (await call('POST', '/disable')).body;
  expect(dropping).toMatchObject({ enabled: false, status: 'dropping', database: null });
  expect((await call('POST', '/disable')).body).toEqual({ ...dropping, changed: false });
  const early = await call('POST', '/enable');
  expect([early.status, early.body.code]).toEqual([409, 'invalid_state_transition']);
  expect(await settle()).toBe(1);
  expect(await onServer()).not.toContain(name);
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28P01');
  const none = (await call('GET', '')).body;
  expect(none.status).toBe('none');
  expect((await call('POST', '/disable')).body).toEqual({ ...none, changed: false });
  const again = (await call('POST', '/enable')).body;
  expect(again.database).not.toBe(name);
});

test('only the representative owner switches it; co-owners and admins look at it', async () => {
  const { call, people } = await rawWorld(database);
  for (const by of [people.coOwner, people.admin]) {
    expect((await call('GET', '', by)).status).toBe(200);
    for (const path of ['/enable', '/disable', '/enable?dry_run=true'])
      expect([(await call('POST', path, by)).body.code]).toEqual(['forbidden']);
  }
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/enable'],
    ['POST', '/disable'],
  ] as const)
    expect((await call(method, path, people.member)).body.code).toBe('not_found');
  const pat = { ...people.owner, kind: 'pat' as const };
  expect((await call('POST', '/enable', pat)).body.code).toBe('login_required');
});

test('an archived app gets none, and keeps or gives up the one that it has', async () => {
  const without = await rawWorld(database);
  const having = await enabled();
  for (const { app } of [without, having])
    await sql`update svc.apps set record = 'archived' where id = ${app.id}`.execute(database.db);
  const refused = await without.call('POST', '/enable');
  expect([refused.status, refused.body.code]).toEqual([409, 'app_not_active']);
  expect((await having.call('POST', '/enable')).body.changed).toBe(false);
  expect((await having.call('POST', '/disable')).body.status).toBe('dropping');
});

test('of several who enable it at once, one is handed the string, and there is one database', async () => {
  const world = await rawWorld(database);
  const answers = await Promise.all([1, 2, 3, 4].map(() => world.call('POST', '/enable')));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(answers.filter(({ body }) => body.connection_string !== undefined)).toHaveLength(1);
  expect(answers.filter(({ body }) => body.changed === false)).toHaveLength(3);
  expect(new Set(answers.map(({ body }) => body.database)).size).toBe(1);
  expect(await world.settle()).toBe(1);
});

test('one key sent twice hands out one string', async () => {
  const { call, settle } = await rawWorld(database);
  const once = { 'idempotency-key': Bun.randomUUIDv7() };
  const [first, second] = [
    await call('POST', '/enable', undefined, once),
    await call('POST', '/enable', undefined, once),
  ];
  expect(second.body).toEqual(first.body);
  expect(await settle()).toBe(1);
});

test('effects may come twice, late and in any order: what the row says is what is brought about', async () => {
  const { tenant, raw, name, url, call } = await enabled();
  const effect = settleRawDb({ db: database.db, raw });
  const payload = { tenant_id: tenant.id, database: name };
  await query(url, 'create table kept (a int)');
  await Promise.all([effect(payload), effect(payload)]);
  await query(url, 'select * from kept');
  await call('POST', '/disable');
  await effect(payload);
  await Promise.all([effect(payload), effect(payload)]);
  expect(await onServer()).not.toContain(name);
  expect((await call('GET', '')).body.status).toBe('none');

  // Disabled before it was ever made.
  const early = await rawWorld(database);
  const { body } = await early.call('POST', '/enable');
  await early.call('POST', '/disable');
  expect(await early.settle()).toBe(2);
  expect(await onServer()).not.toContain(body.database);
});

test('an effect that is killed after the role, or after the database, is finished by the next one', async () => {
  for (const made of ['role', 'database']) {
    const world = await rawWorld(database);
    const { body } = await world.call('POST', '/enable');
    await query(database.url, `create role "${body.role}" nologin`);
    if (made === 'database')
      await query(database.url, `create database "${body.database}" template template0`);
    await world.settle();
    await query(body.connection_string, 'create table mine (a int)');
    expect((await world.call('GET', '')).body.status).toBe('ready');
  }
});

test('a deleted app’s database lets nobody in; a restored one has its data and its login again', async () => {
  const { call, change, settle, url } = await enabled();
  const client = new pg.Client({ connectionString: url });
  const ended = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  await client.query('create table kept (a int)');
  await change(closeRawDatabase);
  await change(closeRawDatabase);
  expect(await settle()).toBe(1);
  await ended;
  expect((await call('GET', '')).body).toMatchObject({ enabled: true, status: 'closed' });
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28000');
  await change(reopenRawDatabase);
  expect((await call('GET', '')).body.status).toBe('creating');
  expect(await settle()).toBe(1);
  await query(url, 'select * from kept');
  expect((await call('GET', '')).body.status).toBe('ready');
});

test('one that is closed before it was made is made when it is opened again', async () => {
  const { call, change, settle } = await rawWorld(database);
  const url = (await call('POST', '/enable')).body.connection_string;
  await change(closeRawDatabase);
  await settle();
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28P01');
  await change(reopenRawDatabase);
  await settle();
  await query(url, 'select 1');
});

test('a purged app takes its database with it, though nothing is left that names it', async () => {
  const { app, change, settle, name } = await enabled();
  const counts: unknown[] = [];
  await change(async (ctx, of) => counts.push(await purgeRawDatabase(ctx, of)));
  await sql`delete from svc.apps where id = ${app.id}`.execute(database.db);
  await settle();
  expect(await onServer()).not.toContain(name);
  await change(async (ctx, of) => counts.push(await purgeRawDatabase(ctx, of)));
  expect(counts).toEqual([{ databases: 1 }, { databases: 0 }]);
});

test('another resource preset changes how many connections it takes', async () => {
  const { call, change, settle, name } = await enabled();
  await change((ctx, of) => resizeRawDatabase(ctx, { ...of, preset: 'XS' }));
  expect(await settle()).toBe(1);
  expect((await call('GET', '')).body.connections_max).toBe(rawDbConnectionsMax.XS);
  expect(await query(database.url, `select rolconnlimit from pg_roles where rolname = '${name}'`)).toEqual([
    { rolconnlimit: rawDbConnectionsMax.XS },
  ]);
  await change((ctx, of) => resizeRawDatabase(ctx, { ...of, preset: 'XS' }));
  expect(await settle()).toBe(0);
});

test('the password is nowhere in the control plane’s tables, neither in audit, effects nor the row', async () => {
  const { url } = await enabled();
  const { password } = new URL(url);
  expect(password.length).toBeGreaterThan(30);
  const tables = await query(
    database.adminUrl,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('svc', 'pgboss')`,
  );
  expect(tables.length).toBeGreaterThan(10);
  for (const { name } of tables) {
    const hex = Buffer.from(password).toString('hex');
    const found = await query(
      database.adminUrl,
      `select from only ${name} t where t::text like '%${password}%' or t::text like '%${hex}%'`,
    );
    expect([name, found.length]).toEqual([name, 0]);
  }
});

test('a seal that was moved to another row does not open', async () => {
  const [one, other] = [await enabled(), await enabled()];
  await sql`update svc.raw_databases set password_sealed =
    (select password_sealed from svc.raw_databases where app_id = ${other.app.id})
    where app_id = ${one.app.id}`.execute(database.db);
  const of = { tenantId: one.tenant.id, appId: one.app.id };
  expect(rawDatabaseEnv(database.db, of)).rejects.toThrow();
});

test('a start writes down where databases are reached now', async () => {
  const { app, tenant, raw, url } = await enabled();
  const address = async () => 'postgresql://db.example:6543/?sslmode=require';
  await keepAddress({ db: database.db, raw: { ...raw, address } });
  const of = { tenantId: tenant.id, appId: app.id };
  const { DATABASE_URL } = await rawDatabaseEnv(database.db, of);
  const login = new URL(url);
  expect(DATABASE_URL).toBe(
    `postgresql://${login.username}:${login.password}@db.example:6543${login.pathname}?sslmode=require`,
  );
});

test('a server that can not be reached is no fault of ours', async () => {
  const nowhere = 'postgresql://nobody:nothing@127.0.0.1:1/none';
  const world = await rawWorld(database, rawOn({ url: nowhere }));
  const { status, body } = await world.call('POST', '/enable');
  expect([status, body.code]).toEqual([409, 'raw_db_unavailable']);
  expect(JSON.stringify(body)).not.toContain('127.0.0.1');
});

test('one that is gone is not made anew under its name, by whatever is changed', async () => {
  const { change, settle, name, url } = await enabled();
  await query(database.adminUrl, `drop database ${name} with (force)`);
  await change((ctx, of) => resizeRawDatabase(ctx, { ...of, preset: 'L' }));
  expect(settle()).rejects.toThrow('no longer there');
  await change(closeRawDatabase);
  await settle();
  await change(reopenRawDatabase);
  await expect(settle()).rejects.toThrow('no longer there');
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28000');
});

/** Whoever is connected with the string before is put out, and the string is worth nothing. */
async function expectRotated(world: RawWorld & { url: string }, work: () => Promise<unknown>) {
  const client = new pg.Client({ connectionString: world.url });
  const ended = new Promise<string>((resolve) =>
    client.on('error', (error) => resolve((error as pg.DatabaseError).code ?? '')),
  );
  await client.connect();
  await client.query('create table kept (a int)');
  await work();
  expect((await world.call('GET', '', world.people.coOwner)).body.status).toBe('creating');
  await world.settle();
  expect(await ended).toBe('57P01');
  expect(await sqlCodeOf(query(world.url, 'select 1'))).toBe('28P01');
  const { DATABASE_URL } = await rawDatabaseEnv(database.db, {
    tenantId: world.tenant.id,
    appId: world.app.id,
  });
  await query(DATABASE_URL ?? '', 'select * from kept');
}

test('the owner changes the password: the new string is handed over once, and works', async () => {
  const world = await enabled();
  const preview = await world.call('POST', '/rotate?dry_run=true');
  expect([preview.status, preview.body.plan.operation]).toEqual([200, 'rawDb.rotate']);
  await query(world.url, 'select 1');
  let anew = '';
  await expectRotated(world, async () => {
    anew = (await world.call('POST', '/rotate')).body.connection_string;
  });
  await query(anew, 'select * from kept');
  for (const by of [world.people.coOwner, world.people.admin])
    expect((await world.call('POST', '/rotate', by)).status).toBe(403);
  const none = await rawWorld(database);
  expect((await none.call('POST', '/rotate')).body.code).toBe('invalid_state_transition');
});

test('who has seen the password and owns the app no more is shut out; others who go change nothing', async () => {
  const world = await enabled();
  const { people, tenant, app } = world;
  const gone = (userId: string) =>
    world.change((ctx) => rotateRawDbsKnownTo(ctx, { tenantId: tenant.id, appId: app.id, userId }));
  await gone(people.coOwner.userId);
  expect(await world.settle()).toBe(0);
  await expectRotated(world, () => gone(people.owner.userId));
  // Nobody knows the one that counts now.
  await gone(people.owner.userId);
  expect(await world.settle()).toBe(0);
});

test('who leaves the tenant is shut out of the databases of all its apps that they have seen', async () => {
  const world = await enabled();
  await expectRotated(world, () =>
    world.change((ctx) =>
      setMember(ctx, { tenantId: world.tenant.id, userId: world.people.owner.userId, role: 'none' }),
    ),
  );
});

test('a server that lets every login in everywhere is refused, without naming what else is on it', async () => {
  const raw = rawOn(database);
  const obstacle = { kind: 'open_to_all' as const, databases: ['payroll'] };
  const world = await rawWorld(database, { ...raw, obstacle: async () => obstacle });
  const { status, body } = await world.call('POST', '/enable?dry_run=true');
  expect([status, body.code]).toEqual([409, 'raw_db_unavailable']);
  expect(JSON.stringify(body)).not.toContain('payroll');
});
