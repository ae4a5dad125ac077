import { describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Database } from './connect.ts';
import { useDataDir, waitUntil } from './hooks-testing.ts';
import { errorCode, query } from './testing.ts';

const dataDir = useDataDir();
const { open, serve, postmaster } = dataDir;

describe('a first start', () => {
  test('creates a UTF-8 cluster with the built-in locale, and private passwords', async () => {
    const path = join(dataDir.folder.path, 'first');
    const database = await open(path);
    const [facts] = await query(
      database.controlUrl,
      `select current_user as user, current_database() as database, pg_encoding_to_char(encoding) as encoding,
         datlocprovider as provider, datlocale as locale, upper('ä') as upper
       from pg_database where datname = current_database()`,
    );
    expect(facts).toEqual({
      user: 'svc_control',
      database: 'svc',
      encoding: 'UTF8',
      provider: 'b',
      locale: 'C.UTF-8',
      upper: 'Ä',
    });
    expect(statSync(join(path, 'postgres.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, 'run')).mode & 0o777).toBe(0o700);
    expect(readdirSync(path).filter((name) => name.startsWith('postgres.new'))).toEqual([]);
    await database.stop();
    expect(postmaster(path)).toBeNull();
  });

  test('that is killed during initdb does not break the next start', async () => {
    const path = join(dataDir.folder.path, 'interrupted');
    const half = () => existsSync(path) && readdirSync(path).find((name) => name.startsWith('postgres.new-'));
    const server = serve({}, path);
    await waitUntil(() => Boolean(half() && existsSync(join(path, `${half()}`, 'cluster', 'base'))));
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    expect(existsSync(join(path, 'postgres'))).toBeFalse();
    const database = await open(path);
    expect(await query(database.controlUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('the logins', () => {
  test('need their password, the superuser too', async () => {
    const database = await open();
    for (const url of [database.controlUrl, database.rowsUrl, database.adminUrl ?? '']) {
      const wrong = Object.assign(new URL(url), { password: 'wrong' }).href;
      expect(await errorCode(query(wrong, 'select 1'))).toBe('28P01');
    }
    await database.stop();
  });

  test('for control can create roles and databases but is no superuser', async () => {
    const database = await open();
    const [role] = await query(
      database.controlUrl,
      'select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls from pg_roles where rolname = current_user',
    );
    expect(role).toEqual({
      rolsuper: false,
      rolcreaterole: true,
      rolcreatedb: true,
      rolreplication: false,
      rolbypassrls: false,
    });
    await query(database.controlUrl, 'create role app_1 login');
    await query(database.controlUrl, 'create database app_1');
    await database.stop();
  });

  test('for rows has no access to the control plane, only to what is granted', async () => {
    const database = await open();
    const forbidden = [
      'select * from svc.platform_keys',
      'create table public.mine (a int)',
      'create schema mine',
      'create temporary table mine (a int)',
      'create role mine',
      "copy (select 1) to program 'true'",
    ];
    for (const sql of forbidden)
      expect([sql, await errorCode(query(database.rowsUrl, sql))]).toEqual([sql, '42501']);
    for (const other of ['postgres', 'template1']) {
      const url = Object.assign(new URL(database.rowsUrl), { pathname: other }).href;
      expect(await errorCode(query(url, 'select 1'))).toBe('42501');
    }
    await query(
      database.controlUrl,
      'create schema app_1; create table app_1.pets as select 7 as age; ' +
        'grant usage on schema app_1 to svc_rows; grant select on app_1.pets to svc_rows',
    );
    expect(await query(database.rowsUrl, 'select age from app_1.pets')).toEqual([{ age: 7 }]);
    await database.stop();
  });
});

describe('a start', () => {
  const superuserIn = (database: Database, name: string) =>
    Object.assign(new URL(database.adminUrl ?? ''), { pathname: name }).href;
  /** When each role, database and schema was written last. */
  const versions = (database: Database) =>
    query(
      superuserIn(database, 'svc'),
      `select rolname::text as name, xmin::text from pg_authid union all select datname, xmin::text from pg_database
       union all select nspname, xmin::text from pg_namespace where nspname in ('public', 'svc') order by 1, 2`,
    );

  test('writes no role, database or schema that is as it should be', async () => {
    const first = await open();
    const before = await versions(first);
    await first.stop();
    const second = await open();
    expect(await versions(second)).toEqual(before);
    await second.stop();
  });

  test.each([
    ['svc', 'alter role svc_rows superuser'],
    ['svc', 'alter role svc_rows bypassrls'],
    ['svc', 'alter role svc_rows createrole'],
    ['svc', 'alter role svc_control nologin'],
    ['svc', 'alter role svc_control nocreatedb'],
    ['svc', "alter role svc_rows password 'another'"],
    ['svc', 'alter role svc_control password null'],
    ['svc', 'alter role svc_rows reset log_error_verbosity'],
    ['svc', 'grant connect on database postgres to public'],
    ['svc', 'grant temporary on database svc to public'],
    ['svc', 'revoke connect on database svc from svc_rows'],
    ['svc', 'grant usage on schema public to public'],
    ['svc', 'drop table svc.platform_keys'],
    ['postgres', 'drop database svc with (force)'],
  ])('repairs what somebody changed in %s: %s', async (name, change) => {
    const first = await open();
    const expected = await state(first);
    await query(superuserIn(first, name), change);
    await first.stop();
    const second = await open();
    expect(await state(second)).toEqual(expected);
    await query(second.rowsUrl, 'select 1');
    await second.stop();
  });

  const state = (database: Database) =>
    query(
      superuserIn(database, 'svc'),
      `select r.rolname, r.rolcanlogin, r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolcreatedb, r.rolconfig,
         array(select datname || datacl::text from pg_database order by 1) as databases,
         (select nspacl::text from pg_namespace where nspname = 'public') as schema,
         to_regclass('svc.platform_keys')::text as keys
       from pg_roles r where r.rolname in ('svc_control', 'svc_rows') order by 1`,
    );
});

describe('a data dir', () => {
  test.each([
    ['with a path too long for a socket', `${'deep/'.repeat(30)}data`],
    ['with odd characters', `a, "b" c'd %20 ü\\`],
  ])('%s works, also after a move', async (_, name) => {
    const home = dataDir.path;
    dataDir.path = join(dataDir.folder.path, name);
    mkdirSync(dirname(dataDir.path), { recursive: true });
    renameSync(home, dataDir.path);
    const database = await open();
    await query(database.controlUrl, 'select 1');
    const socketFolder = new URL(database.controlUrl).searchParams.get('host') ?? '';
    expect(socketFolder.startsWith(dataDir.path)).toBe(name.startsWith('a'));
    await database.stop();
    expect(existsSync(join(dataDir.path, 'server.lock'))).toBeFalse();
    if (!name.startsWith('a')) expect(existsSync(socketFolder)).toBeFalse();
    renameSync(dataDir.path, home);
    dataDir.path = home;
  });

  test('of another major version is rejected and not changed', async () => {
    const version = join(dataDir.path, 'postgres', 'PG_VERSION');
    writeFileSync(version, '17\n');
    expect(await errorCode(open())).toBe('wrong_major_version');
    expect(readFileSync(version, 'utf8')).toBe('17\n');
    writeFileSync(version, '18\n');
    await (await open()).stop();
  });

  test('with a foreign folder named postgres is rejected and not changed', async () => {
    const path = join(dataDir.folder.path, 'strange');
    mkdirSync(join(path, 'postgres'), { recursive: true });
    writeFileSync(join(path, 'postgres', 'diary.txt'), 'dear diary');
    expect(await errorCode(open(path))).toBe('not_a_cluster');
    expect(readdirSync(join(path, 'postgres'))).toEqual(['diary.txt']);
  });

  test('without its passwords is rejected until they are restored', async () => {
    const path = join(dataDir.path, 'postgres.json');
    renameSync(path, `${path}.away`);
    expect(await errorCode(open())).toBe('credentials_lost');
    writeFileSync(path, '{"superuser":"a","control":"b","rows":"c"}');
    expect(await errorCode(open())).toBe('credentials_lost');
    expect(postmaster()).toBeNull();
    rmSync(path);
    renameSync(`${path}.away`, path);
    await (await open()).stop();
  });

  test('where PostgreSQL cannot start gives the reason from its log', async () => {
    writeFileSync(join(dataDir.path, 'postgres', 'postgresql.auto.conf'), "max_connections = 'many'\n");
    const error = await open().catch((cause) => cause);
    expect(error.code).toBe('start_failed');
    expect(error.message).toContain('max_connections');
    expect(existsSync(join(dataDir.path, 'server.lock'))).toBeFalse();
    writeFileSync(join(dataDir.path, 'postgres', 'postgresql.auto.conf'), '');
  });
});
