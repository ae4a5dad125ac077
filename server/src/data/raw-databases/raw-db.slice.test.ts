import { expect, test } from 'bun:test';
import { rawDbConnectionsMax } from '@svc/contract/raw-db.ts';
import { sql } from 'kysely';
import { query, errorCode as sqlCodeOf } from '../../drivers/database/testing.ts';
import { newRawApp, rawDatabasesAt, useRawDatabases } from './testing.ts';

const { database, databasesOnServer, findRows, newEnabledApp } = useRawDatabases();

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
  expect([await findRows(target), await target.runEffects(), await databasesOnServer()]).toEqual([
    [],
    0,
    before,
  ]);

  const created = await newEnabledApp();
  const drop = await created.call('POST', '/disable?dry_run=true');
  expect(drop.body.plan).toMatchObject({ operation: 'rawDb.disable', irreversible: true });
  expect(drop.body.plan.warnings).toHaveLength(1);
  expect(await created.runEffects()).toBe(0);
  await query(created.url, 'select 1');
});

test('disabling drops database and role; repeating it changes nothing', async () => {
  const { call, runEffects, url, name } = await newEnabledApp();
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
  const having = await newEnabledApp();
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

test('enabling answers 409 when the database server is not reachable', async () => {
  const nowhere = 'postgresql://nobody:nothing@127.0.0.1:1/none';
  const target = await newRawApp(database, rawDatabasesAt({ url: nowhere }));
  const { status, body } = await target.call('POST', '/enable');
  expect([status, body.code]).toEqual([409, 'raw_db_unavailable']);
  expect(JSON.stringify(body)).not.toContain('127.0.0.1');
});

test('a server open to every login is refused without naming its other databases', async () => {
  const raw = rawDatabasesAt(database);
  const problem = { kind: 'open_to_all' as const, databases: ['payroll'] };
  const target = await newRawApp(database, { ...raw, findProblem: async () => problem });
  const { status, body } = await target.call('POST', '/enable?dry_run=true');
  expect([status, body.code]).toEqual([409, 'raw_db_unavailable']);
  expect(JSON.stringify(body)).not.toContain('payroll');
});
