import { expect, test } from 'bun:test';
import { rawDbConnectionsMax } from '@svc/contract/raw-db.ts';
import { sql } from 'kysely';
import pg from 'pg';
import { query, errorCode as sqlCodeOf } from '../../drivers/database/testing.ts';
import {
  closeRawDatabase,
  endRawDatabaseReview,
  loadReaderEnv,
  purgeRawDatabase,
  reconcileRawDb,
  reopenRawDatabase,
  resizeRawDatabase,
  startRawDatabaseReview,
} from './lifecycle.ts';
import { newRawApp, useRawDatabases } from './testing.ts';

const { database, databasesOnServer, newEnabledApp } = useRawDatabases();

test('effects may run twice, late and in any order: the row decides', async () => {
  const { tenant, raw, name, url, call } = await newEnabledApp();
  const effect = reconcileRawDb({ db: database.db, raw });
  const payload = { tenant_id: tenant.id, database: name };
  await query(url, 'create table pets (a int)');
  await Promise.all([effect(payload), effect(payload)]);
  await query(url, 'select * from pets');
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
  const { call, change, runEffects, url } = await newEnabledApp();
  const client = new pg.Client({ connectionString: url });
  const ended = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  await client.query('create table pets (a int)');
  await change(closeRawDatabase);
  await change(closeRawDatabase);
  expect(await runEffects()).toBe(1);
  await ended;
  expect((await call('GET', '')).body).toMatchObject({ enabled: true, status: 'closed' });
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28000');
  await change(reopenRawDatabase);
  expect((await call('GET', '')).body.status).toBe('creating');
  expect(await runEffects()).toBe(1);
  await query(url, 'select * from pets');
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
  const { app, change, runEffects, name } = await newEnabledApp();
  const counts: unknown[] = [];
  await change(async (ctx, ref) => counts.push(await purgeRawDatabase(ctx, ref)));
  await sql`delete from svc.apps where id = ${app.id}`.execute(database.db);
  await runEffects();
  expect(await databasesOnServer()).not.toContain(name);
  await change(async (ctx, ref) => counts.push(await purgeRawDatabase(ctx, ref)));
  expect(counts).toEqual([{ databases: 1 }, { databases: 0 }]);
});

test('another resource preset changes the connection limit', async () => {
  const { call, change, runEffects, name } = await newEnabledApp();
  await change((ctx, ref) => resizeRawDatabase(ctx, { ...ref, preset: 'XS' }));
  expect(await runEffects()).toBe(1);
  expect((await call('GET', '')).body.connections_max).toBe(rawDbConnectionsMax.XS);
  expect(await query(database.url, `select rolconnlimit from pg_roles where rolname = '${name}'`)).toEqual([
    { rolconnlimit: rawDbConnectionsMax.XS },
  ]);
  await change((ctx, ref) => resizeRawDatabase(ctx, { ...ref, preset: 'XS' }));
  expect(await runEffects()).toBe(0);
});

test('a database that disappeared is never created again', async () => {
  const { change, runEffects, name, url } = await newEnabledApp();
  await query(database.adminUrl, `drop database ${name} with (force)`);
  await change((ctx, ref) => resizeRawDatabase(ctx, { ...ref, preset: 'L' }));
  await expect(runEffects()).rejects.toThrow('no longer exists');
  await change(closeRawDatabase);
  await runEffects();
  await change(reopenRawDatabase);
  await expect(runEffects()).rejects.toThrow('no longer exists');
  expect(await sqlCodeOf(query(url, 'select 1'))).toBe('28000');
});

test('a build in review reads all tables of the database, changes none, and only until the decision', async () => {
  const { ref, raw, url, change, runEffects, call } = await newEnabledApp();
  await query(
    url,
    'create table pets (id serial, name text); create schema other; create table other.rows (a int)',
  );
  await query(url, "insert into pets (name) values ('Rex')");
  const review = async (deploymentId: string) => {
    await change((ctx) => startRawDatabaseReview(ctx.db, ref, deploymentId));
    return (await loadReaderEnv({ db: database.db, raw }, ref)).DATABASE_URL ?? '';
  };
  const readUrl = await review(Bun.randomUUIDv7());
  expect(await query(readUrl, 'select name from pets')).toEqual([{ name: 'Rex' }]);
  expect(await query(readUrl, 'select * from other.rows')).toEqual([]);
  await query(url, 'create table later (a int); create schema newest; create table newest.rows (a int)');
  await query(readUrl, 'select * from later, newest.rows');
  const changes = [
    "insert into pets (name) values ('Tom')",
    "begin read write; update pets set name = 'Tom'",
    'delete from other.rows',
    'truncate pets',
    "select nextval('pets_id_seq')",
    'create table mine (a int)',
    'create temporary table mine (a int)',
    'create schema mine',
    'drop table pets',
    'alter table pets add column a int',
    `set role "${new URL(url).username}"`,
    `alter role current_user createdb`,
  ];
  for (const statement of changes)
    expect([statement, await sqlCodeOf(query(readUrl, statement))]).toEqual([statement, '42501']);

  const client = new pg.Client({ connectionString: readUrl });
  const ended = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  await change(endRawDatabaseReview);
  expect(await runEffects()).toBe(1);
  await ended;
  expect(await sqlCodeOf(query(readUrl, 'select 1'))).toBe('28000');
  const next = await review(Bun.randomUUIDv7());
  expect(await sqlCodeOf(query(readUrl, 'select 1'))).toBe('28P01');
  expect(await query(next, 'select name from pets')).toEqual([{ name: 'Rex' }]);
  await query(url, "insert into pets (name) values ('Tom')");
  await call('POST', '/disable');
  await runEffects();
  expect(
    await query(database.adminUrl, `select from pg_roles where rolname = '${new URL(next).username}'`),
  ).toEqual([]);
});
