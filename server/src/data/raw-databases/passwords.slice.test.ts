import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import pg from 'pg';
import { query, errorCode as sqlCodeOf } from '../../drivers/database/testing.ts';
import { setMember } from '../../people/tenants/members.ts';
import { publishRawDatabases } from './lifecycle.ts';
import { rawDatabaseEnv, rotateRawDbsKnownTo } from './passwords.ts';
import { newRawApp, type TestRawApp, useRawDatabases } from './testing.ts';

const { database, newEnabledApp } = useRawDatabases();

/** Open connections are closed, and the old connection string stops working. */
async function expectRotated(target: TestRawApp & { url: string }, work: () => Promise<unknown>) {
  const client = new pg.Client({ connectionString: target.url });
  const ended = new Promise<string>((resolve) =>
    client.on('error', (error) => resolve((error as pg.DatabaseError).code ?? '')),
  );
  await client.connect();
  await client.query('create table pets (a int)');
  await work();
  expect((await target.as(target.people.coOwner)('GET', '')).body.status).toBe('creating');
  await target.runEffects();
  expect(await ended).toBe('57P01');
  expect(await sqlCodeOf(query(target.url, 'select 1'))).toBe('28P01');
  const { DATABASE_URL } = await rawDatabaseEnv(database.db, target.ref);
  await query(DATABASE_URL ?? '', 'select * from pets');
}

test('the app’s environment has the same string, and nothing without a database', async () => {
  const { ref, url, call, runEffects } = await newEnabledApp();
  expect(await rawDatabaseEnv(database.db, ref)).toEqual({ DATABASE_URL: url });
  expect(await rawDatabaseEnv(database.db, { ...ref, tenantId: Bun.randomUUIDv7() })).toEqual({});
  await call('POST', '/disable');
  expect(await rawDatabaseEnv(database.db, ref)).toEqual({});
  await runEffects();
  expect(await rawDatabaseEnv(database.db, ref)).toEqual({});
});

test('no table of the control plane holds the password in clear text', async () => {
  const { url } = await newEnabledApp();
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
  const [one, other] = [await newEnabledApp(), await newEnabledApp()];
  await sql`update svc.raw_databases set password_sealed =
    (select password_sealed from svc.raw_databases where app_id = ${other.app.id})
    where app_id = ${one.app.id}`.execute(database.db);
  expect(rawDatabaseEnv(database.db, one.ref)).rejects.toThrow();
});

test('a start stores the present address of the database server', async () => {
  const { ref, raw, url } = await newEnabledApp();
  const address = async () => 'postgresql://db.example:6543/?sslmode=require';
  await publishRawDatabases({ db: database.db, raw: { ...raw, address } });
  const { DATABASE_URL } = await rawDatabaseEnv(database.db, ref);
  const login = new URL(url);
  expect(DATABASE_URL).toBe(
    `postgresql://${login.username}:${login.password}@db.example:6543${login.pathname}?sslmode=require`,
  );
});

test('rotating returns the new connection string once, and it works', async () => {
  const target = await newEnabledApp();
  const preview = await target.call('POST', '/rotate?dry_run=true');
  expect([preview.status, preview.body.plan.operation]).toEqual([200, 'rawDb.rotate']);
  await query(target.url, 'select 1');
  let rotatedUrl = '';
  await expectRotated(target, async () => {
    rotatedUrl = (await target.call('POST', '/rotate')).body.connection_string;
  });
  await query(rotatedUrl, 'select * from pets');
  for (const by of [target.people.coOwner, target.people.admin])
    expect((await target.as(by)('POST', '/rotate')).status).toBe(403);
  const none = await newRawApp(database);
  expect((await none.call('POST', '/rotate')).body.code).toBe('invalid_state_transition');
});

test('the password changes when an owner who has seen it goes, not when others go', async () => {
  const target = await newEnabledApp();
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
  const target = await newEnabledApp();
  await expectRotated(target, () =>
    target.change((ctx) =>
      setMember(ctx, { tenantId: target.tenant.id, userId: target.people.owner.userId, role: 'none' }),
    ),
  );
});
