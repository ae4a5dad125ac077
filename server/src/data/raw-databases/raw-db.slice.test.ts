import { afterAll, expect, test } from 'bun:test';
import { rawDbConnectionsMax } from '@svc/contract/raw-db.ts';
import { sql } from 'kysely';
import pg from 'pg';
import { newApp } from '../../apps/record/testing.ts';
import { type AppRef, appRef, type Caller, type MutationCtx } from '../../core/context.ts';
import { query, errorCode as sqlCodeOf } from '../../drivers/database/testing.ts';
import { createRawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { externalServer } from '../../drivers/raw-database/server.ts';
import { setMember } from '../../people/tenants/members.ts';
import { newTenant, newUser, type TestDatabase, testMutation, useTestDatabase } from '../../testing.ts';
import { appCalls } from '../testing.ts';
import {
  closeRawDatabase,
  publishRawDatabases,
  purgeRawDatabase,
  reconcileRawDb,
  reopenRawDatabase,
  resizeRawDatabase,
} from './lifecycle.ts';
import { rawDatabaseEnv, rotateRawDbsKnownTo } from './passwords.ts';
import { rawDbRoutes } from './routes.ts';

type TestRawApp = Awaited<ReturnType<typeof newRawApp>>;

const rawDatabasesAt = ({ url }: Pick<TestDatabase, 'url'>) =>
  createRawDatabases({ installation: 'test', server: externalServer(url) });

async function newRawApp(database: TestDatabase, raw = rawDatabasesAt(database)) {
  const { db } = database;
  const people = await newTenant(db);
  const { tenant, admin, member } = people;
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const ref = appRef({ tenant, app });
  const calls = appCalls(database, people, { routes: rawDbRoutes({ raw }), path: '/raw-db' });
  const reconcile = reconcileRawDb({ db, raw });
  return {
    tenant,
    app,
    ref,
    raw,
    people: { owner, coOwner, admin, member },
    call: calls(owner, app),
    as: (caller: Caller) => calls(caller, app),
    change: (work: (ctx: MutationCtx, ref: AppRef) => Promise<unknown>) =>
      testMutation(db, owner, (ctx) => work(ctx, ref), { auditTenantId: tenant.id }),
    runEffects: async (): Promise<number> => {
      const { rows } = await sql<{ payload: Record<string, unknown> }>`
        update svc.outbox set done_at = now()
        where topic = 'rawDb.settle' and payload->>'tenant_id' = ${tenant.id} and done_at is null
        returning payload`.execute(db);
      for (const { payload } of rows) await reconcile(payload);
      return rows.length;
    },
  };
}
// Hooks run in the order of their registration: the roles must go before the test database.
afterAll(async () => {
  const raw = rawDatabasesAt(database);
  for (const name of await databasesOnServer()) await raw.withLock(name, (database) => database.drop());
});
const database = useTestDatabase();

async function databasesOnServer(): Promise<string[]> {
  const rows = await query(
    database.adminUrl,
    `select datname as name from pg_database where datname ~ '^svc_raw_'
     union select rolname from pg_roles where rolname ~ '^svc_raw_'`,
  );
  return rows.map(({ name }) => name);
}

const rowsOf = async ({ app }: TestRawApp) =>
  (
    await sql<{ state: string }>`select * from svc.raw_databases where app_id = ${app.id}`.execute(
      database.db,
    )
  ).rows;

async function enabled(): Promise<TestRawApp & { url: string; name: string }> {
  const target = await newRawApp(database);
  const { body } = await target.call('POST', '/enable');
  await target.runEffects();
  return { ...target, url: body.connection_string, name: body.database };
}

test('enabling returns the connection string once, and it works once the status is ready', async () => {
  const { app, call, runEffects } = await newRawApp(database);
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
  expect(await runEffects()).toBe(1);
  await query(url, 'create table pets (name text); insert into pets values ($$Rex$$)');
  expect(await query(url, 'select name from pets')).toEqual([{ name: 'Rex' }]);

  const ready = { ...record, status: 'ready' };
  expect((await call('GET', '')).body).toEqual(ready);
  expect((await call('POST', '/enable')).body).toEqual({ ...ready, changed: false });
  expect(await runEffects()).toBe(0);
});

test('the app’s environment has the same string, and nothing without a database', async () => {
  const { ref, url, call, runEffects } = await enabled();
  expect(await rawDatabaseEnv(database.db, ref)).toEqual({ DATABASE_URL: url });
  expect(await rawDatabaseEnv(database.db, { ...ref, tenantId: Bun.randomUUIDv7() })).toEqual({});
  await call('POST', '/disable');
  expect(await rawDatabaseEnv(database.db, ref)).toEqual({});
  await runEffects();
  expect(await rawDatabaseEnv(database.db, ref)).toEqual({});
});

test('a preview creates no role, database, row or effect', async () => {
  const target = await newRawApp(database);
  const before = await databasesOnServer();
  const { body } = await target.call('POST', '/enable?dry_run=true');
  expect(body.plan).toMatchObject({
    operation: 'rawDb.enable',
    irreversible: false,
    target: { kind: 'raw_database', id: target.app.id, name: target.app.slug },
    changes: [
      { path: 'enabled', before: null, after: true, effect: 'create' },
      { path: 'connections_max', before: null, after: 10 },
      { path: 'enabled_at', before: null, after: '(time of execution)' },
    ],
  });
  expect(JSON.stringify(body)).not.toContain('postgresql:');
  expect([await rowsOf(target), await target.runEffects(), await databasesOnServer()]).toEqual([
    [],
    0,
    before,
  ]);

  const made = await enabled();
  const drop = await made.call('POST', '/disable?dry_run=true');
  expect(drop.body.plan).toMatchObject({ operation: 'rawDb.disable', irreversible: true });
  expect(drop.body.plan.warnings).toHaveLength(1);
  expect(await made.runEffects()).toBe(0);
  await query(made.url, 'select 1');
});

test('disabling drops database and role; repeating it changes nothing', async () => {
  const { call, runEffects, url, name } = await enabled();
  const dropping = (await call('POST', '/disable')).body;
  expect(dropping).toMatchObject({ enabled: false, status: 'dropping', database: null });
  expect((await call('POST', '/disable')).body).toEqual({ ...dropping, changed: false });
  const early = await call('POST', '/enable');
  expect([early.status, early.body.code]).toEqual([409, 'invalid_state_transition']);
  expect(await runEffects()).toBe(1);
  expect(await databasesOnServer()).not.toContain(name);
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28P01');
  const none = (await call('GET', '')).body;
  expect(none.status).toBe('none');
  expect((await call('POST', '/disable')).body).toEqual({ ...none, changed: false });
  const again = (await call('POST', '/enable')).body;
  expect(again.database).not.toBe(name);
});

test('only the representative owner enables and disables; co-owners and admins may read', async () => {
  const { as, people } = await newRawApp(database);
  for (const by of [people.coOwner, people.admin]) {
    expect((await as(by)('GET', '')).status).toBe(200);
    for (const path of ['/enable', '/disable', '/enable?dry_run=true'])
      expect([(await as(by)('POST', path)).body.code]).toEqual(['forbidden']);
  }
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/enable'],
    ['POST', '/disable'],
  ] as const)
    expect((await as(people.member)(method, path)).body.code).toBe('not_found');
  const pat = { ...people.owner, kind: 'pat' as const };
  expect((await as(pat)('POST', '/enable')).body.code).toBe('login_required');
});

test('an archived app cannot enable a database, but keeps or disables its own', async () => {
  const without = await newRawApp(database);
  const having = await enabled();
  for (const { app } of [without, having])
    await sql`update svc.apps set record = 'archived' where id = ${app.id}`.execute(database.db);
  const refused = await without.call('POST', '/enable');
  expect([refused.status, refused.body.code]).toEqual([409, 'app_not_active']);
  expect((await having.call('POST', '/enable')).body.changed).toBe(false);
  expect((await having.call('POST', '/disable')).body.status).toBe('dropping');
});

test('of several parallel enables, one gets the string, and one database is created', async () => {
  const target = await newRawApp(database);
  const answers = await Promise.all([1, 2, 3, 4].map(() => target.call('POST', '/enable')));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(answers.filter(({ body }) => body.connection_string !== undefined)).toHaveLength(1);
  expect(answers.filter(({ body }) => body.changed === false)).toHaveLength(3);
  expect(new Set(answers.map(({ body }) => body.database)).size).toBe(1);
  expect(await target.runEffects()).toBe(1);
});

test('repeating a request with the same idempotency key returns the same string', async () => {
  const { call, runEffects } = await newRawApp(database);
  const once = { 'idempotency-key': Bun.randomUUIDv7() };
  const [first, second] = [
    await call('POST', '/enable', undefined, once),
    await call('POST', '/enable', undefined, once),
  ];
  expect(second.body).toEqual(first.body);
  expect(await runEffects()).toBe(1);
});

test('effects may run twice, late and in any order: the row decides', async () => {
  const { tenant, raw, name, url, call } = await enabled();
  const effect = reconcileRawDb({ db: database.db, raw });
  const payload = { tenant_id: tenant.id, database: name };
  await query(url, 'create table kept (a int)');
  await Promise.all([effect(payload), effect(payload)]);
  await query(url, 'select * from kept');
  await call('POST', '/disable');
  await effect(payload);
  await Promise.all([effect(payload), effect(payload)]);
  expect(await databasesOnServer()).not.toContain(name);
  expect((await call('GET', '')).body.status).toBe('none');

  // Disabled before it was created.
  const early = await newRawApp(database);
  const { body } = await early.call('POST', '/enable');
  await early.call('POST', '/disable');
  expect(await early.runEffects()).toBe(2);
  expect(await databasesOnServer()).not.toContain(body.database);
});

test('an effect killed after creating the role or the database is completed by the next one', async () => {
  for (const made of ['role', 'database']) {
    const target = await newRawApp(database);
    const { body } = await target.call('POST', '/enable');
    await query(database.url, `create role "${body.role}" nologin`);
    if (made === 'database')
      await query(database.url, `create database "${body.database}" template template0`);
    await target.runEffects();
    await query(body.connection_string, 'create table mine (a int)');
    expect((await target.call('GET', '')).body.status).toBe('ready');
  }
});

test('a deleted app’s database refuses logins; restoring the app brings data and login back', async () => {
  const { call, change, runEffects, url } = await enabled();
  const client = new pg.Client({ connectionString: url });
  const ended = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  await client.query('create table kept (a int)');
  await change(closeRawDatabase);
  await change(closeRawDatabase);
  expect(await runEffects()).toBe(1);
  await ended;
  expect((await call('GET', '')).body).toMatchObject({ enabled: true, status: 'closed' });
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28000');
  await change(reopenRawDatabase);
  expect((await call('GET', '')).body.status).toBe('creating');
  expect(await runEffects()).toBe(1);
  await query(url, 'select * from kept');
  expect((await call('GET', '')).body.status).toBe('ready');
});

test('a database closed before it was created is created when it is reopened', async () => {
  const { call, change, runEffects } = await newRawApp(database);
  const url = (await call('POST', '/enable')).body.connection_string;
  await change(closeRawDatabase);
  await runEffects();
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28P01');
  await change(reopenRawDatabase);
  await runEffects();
  await query(url, 'select 1');
});

test('purging an app drops its database', async () => {
  const { app, change, runEffects, name } = await enabled();
  const counts: unknown[] = [];
  await change(async (ctx, ref) => counts.push(await purgeRawDatabase(ctx, ref)));
  await sql`delete from svc.apps where id = ${app.id}`.execute(database.db);
  await runEffects();
  expect(await databasesOnServer()).not.toContain(name);
  await change(async (ctx, ref) => counts.push(await purgeRawDatabase(ctx, ref)));
  expect(counts).toEqual([{ databases: 1 }, { databases: 0 }]);
});

test('another resource preset changes the connection limit', async () => {
  const { call, change, runEffects, name } = await enabled();
  await change((ctx, ref) => resizeRawDatabase(ctx, { ...ref, preset: 'XS' }));
  expect(await runEffects()).toBe(1);
  expect((await call('GET', '')).body.connections_max).toBe(rawDbConnectionsMax.XS);
  expect(await query(database.url, `select rolconnlimit from pg_roles where rolname = '${name}'`)).toEqual([
    { rolconnlimit: rawDbConnectionsMax.XS },
  ]);
  await change((ctx, ref) => resizeRawDatabase(ctx, { ...ref, preset: 'XS' }));
  expect(await runEffects()).toBe(0);
});

test('no table of the control plane holds the password in clear text', async () => {
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

test('a sealed password copied to another row cannot be decrypted', async () => {
  const [one, other] = [await enabled(), await enabled()];
  await sql`update svc.raw_databases set password_sealed =
    (select password_sealed from svc.raw_databases where app_id = ${other.app.id})
    where app_id = ${one.app.id}`.execute(database.db);
  expect(rawDatabaseEnv(database.db, one.ref)).rejects.toThrow();
});

test('a start stores the present address of the database server', async () => {
  const { ref, raw, url } = await enabled();
  const address = async () => 'postgresql://db.example:6543/?sslmode=require';
  await publishRawDatabases({ db: database.db, raw: { ...raw, address } });
  const { DATABASE_URL } = await rawDatabaseEnv(database.db, ref);
  const login = new URL(url);
  expect(DATABASE_URL).toBe(
    `postgresql://${login.username}:${login.password}@db.example:6543${login.pathname}?sslmode=require`,
  );
});

test('enabling answers 409 when the database server is not reachable', async () => {
  const nowhere = 'postgresql://nobody:nothing@127.0.0.1:1/none';
  const target = await newRawApp(database, rawDatabasesAt({ url: nowhere }));
  const { status, body } = await target.call('POST', '/enable');
  expect([status, body.code]).toEqual([409, 'raw_db_unavailable']);
  expect(JSON.stringify(body)).not.toContain('127.0.0.1');
});

test('a database that disappeared is never created again', async () => {
  const { change, runEffects, name, url } = await enabled();
  await query(database.adminUrl, `drop database ${name} with (force)`);
  await change((ctx, ref) => resizeRawDatabase(ctx, { ...ref, preset: 'L' }));
  await expect(runEffects()).rejects.toThrow('no longer exists');
  await change(closeRawDatabase);
  await runEffects();
  await change(reopenRawDatabase);
  await expect(runEffects()).rejects.toThrow('no longer exists');
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28000');
});

/** Open connections are closed, and the old connection string stops working. */
async function expectRotated(target: TestRawApp & { url: string }, work: () => Promise<unknown>) {
  const client = new pg.Client({ connectionString: target.url });
  const ended = new Promise<string>((resolve) =>
    client.on('error', (error) => resolve((error as pg.DatabaseError).code ?? '')),
  );
  await client.connect();
  await client.query('create table kept (a int)');
  await work();
  expect((await target.as(target.people.coOwner)('GET', '')).body.status).toBe('creating');
  await target.runEffects();
  expect(await ended).toBe('57P01');
  expect(await sqlCodeOf(query(target.url, 'select 1'))).toBe('28P01');
  const { DATABASE_URL } = await rawDatabaseEnv(database.db, target.ref);
  await query(DATABASE_URL ?? '', 'select * from kept');
}

test('rotating returns the new connection string once, and it works', async () => {
  const target = await enabled();
  const preview = await target.call('POST', '/rotate?dry_run=true');
  expect([preview.status, preview.body.plan.operation]).toEqual([200, 'rawDb.rotate']);
  await query(target.url, 'select 1');
  let anew = '';
  await expectRotated(target, async () => {
    anew = (await target.call('POST', '/rotate')).body.connection_string;
  });
  await query(anew, 'select * from kept');
  for (const by of [target.people.coOwner, target.people.admin])
    expect((await target.as(by)('POST', '/rotate')).status).toBe(403);
  const none = await newRawApp(database);
  expect((await none.call('POST', '/rotate')).body.code).toBe('invalid_state_transition');
});

test('the password changes when an owner who has seen it goes, not when others go', async () => {
  const target = await enabled();
  const { people, ref } = target;
  const gone = (userId: string) => target.change((ctx) => rotateRawDbsKnownTo(ctx, { ...ref, userId }));
  await gone(people.coOwner.userId);
  expect(await target.runEffects()).toBe(0);
  await expectRotated(target, () => gone(people.owner.userId));
  // Nobody knows the new password.
  await gone(people.owner.userId);
  expect(await target.runEffects()).toBe(0);
});

test('leaving the tenant changes every password that the person has seen', async () => {
  const target = await enabled();
  await expectRotated(target, () =>
    target.change((ctx) =>
      setMember(ctx, { tenantId: target.tenant.id, userId: target.people.owner.userId, role: 'none' }),
    ),
  );
});

test('a server open to every login is refused without naming its other databases', async () => {
  const raw = rawDatabasesAt(database);
  const problem = { kind: 'open_to_all' as const, databases: ['payroll'] };
  const target = await newRawApp(database, { ...raw, findProblem: async () => problem });
  const { status, body } = await target.call('POST', '/enable?dry_run=true');
  expect([status, body.code]).toEqual([409, 'raw_db_unavailable']);
  expect(JSON.stringify(body)).not.toContain('payroll');
});
