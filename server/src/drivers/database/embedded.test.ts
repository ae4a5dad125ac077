import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { ChildProcess } from 'node:child_process';
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
import { type Database, openDatabase } from './database.ts';
import { livingPostmaster } from './postmaster-file.ts';
import {
  type BunProcess,
  codeOf,
  query,
  runServer,
  stoppedDataDir,
  type TemporaryFolder,
  temporaryFolder,
} from './testing.ts';

setDefaultTimeout(30_000);

let folder: TemporaryFolder;
// One for all tests: whatever state a test leaves it in, the next start has to cope with.
let dataDir: string;
let opened: Database[] = [];
let children: ChildProcess[] = [];

beforeAll(async () => {
  folder = temporaryFolder();
  dataDir = await stoppedDataDir(join(folder.path, 'data'));
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(opened.map((database) => database.stop()));
  opened = [];
  children = [];
});

afterAll(() => folder.remove());

async function open(dataDir: string, log: (line: string) => void = () => {}): Promise<Database> {
  const database = await openDatabase({ dataDir, log });
  opened.push(database);
  return database;
}

function serve(as: { detached?: boolean } = {}, where = dataDir): BunProcess {
  const server = runServer(where, as);
  children.push(server.child);
  return server;
}

const postmasterOf = (where = dataDir) => livingPostmaster(join(where, 'postgres'));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(5);
}

describe('a first start', () => {
  test('makes a UTF-8 cluster that sorts alike on every system, and keeps its passwords private', async () => {
    const dataDir = join(folder.path, 'first');
    const database = await open(dataDir);
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
    expect(statSync(join(dataDir, 'postgres.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'run')).mode & 0o777).toBe(0o700);
    expect(readdirSync(dataDir).filter((name) => name.startsWith('postgres.new'))).toEqual([]);
    await database.stop();
    expect(postmasterOf(dataDir)).toBeNull();
  });

  test('that is killed while it sets up leaves nothing that the next one trips over', async () => {
    const dataDir = join(folder.path, 'interrupted');
    const half = () =>
      existsSync(dataDir) && readdirSync(dataDir).find((name) => name.startsWith('postgres.new-'));
    const server = serve({}, dataDir);
    await until(() => Boolean(half() && existsSync(join(dataDir, `${half()}`, 'cluster', 'base'))));
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    expect(existsSync(join(dataDir, 'postgres'))).toBeFalse();
    const database = await open(dataDir);
    expect(await query(database.controlUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('the logins', () => {
  test('are refused without the right password, the superuser too', async () => {
    const database = await open(dataDir);
    for (const url of [database.controlUrl, database.rowsUrl, database.adminUrl ?? '']) {
      const wrong = Object.assign(new URL(url), { password: 'wrong' }).href;
      expect(await codeOf(query(wrong, 'select 1'))).toBe('28P01');
    }
    await database.stop();
  });

  test('for control may make roles and databases but is no superuser', async () => {
    const database = await open(dataDir);
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

  test('for rows reaches nothing of the control plane, and what is granted to it', async () => {
    const database = await open(dataDir);
    const refused = [
      'select * from svc.platform_keys',
      'create table public.mine (a int)',
      'create schema mine',
      'create temporary table mine (a int)',
      'create role mine',
      "copy (select 1) to program 'true'",
    ];
    for (const sql of refused)
      expect([sql, await codeOf(query(database.rowsUrl, sql))]).toEqual([sql, '42501']);
    for (const other of ['postgres', 'template1']) {
      const url = Object.assign(new URL(database.rowsUrl), { pathname: other }).href;
      expect(await codeOf(query(url, 'select 1'))).toBe('42501');
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

describe('a data dir', () => {
  test.each([
    ['far down, where a socket path would be too long', `${'deep/'.repeat(30)}data`],
    ['with odd characters', `a, "b" c'd %20 ü\\`],
  ])('%s, works, also when it was moved there', async (_, name) => {
    const home = dataDir;
    dataDir = join(folder.path, name);
    mkdirSync(dirname(dataDir), { recursive: true });
    renameSync(home, dataDir);
    const database = await open(dataDir);
    await query(database.controlUrl, 'select 1');
    const socketFolder = new URL(database.controlUrl).searchParams.get('host') ?? '';
    expect(socketFolder.startsWith(dataDir)).toBe(name.startsWith('a'));
    await database.stop();
    expect(existsSync(join(dataDir, 'server.lock'))).toBeFalse();
    if (!name.startsWith('a')) expect(existsSync(socketFolder)).toBeFalse();
    renameSync(dataDir, home);
    dataDir = home;
  });

  test('of another major version is refused and left alone', async () => {
    const version = join(dataDir, 'postgres', 'PG_VERSION');
    writeFileSync(version, '17\n');
    expect(await codeOf(open(dataDir))).toBe('wrong_major_version');
    expect(readFileSync(version, 'utf8')).toBe('17\n');
    writeFileSync(version, '18\n');
    await (await open(dataDir)).stop();
  });

  test('with a folder in the place of the cluster is refused and left alone', async () => {
    const dataDir = join(folder.path, 'strange');
    mkdirSync(join(dataDir, 'postgres'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres', 'diary.txt'), 'dear diary');
    expect(await codeOf(open(dataDir))).toBe('not_a_cluster');
    expect(readdirSync(join(dataDir, 'postgres'))).toEqual(['diary.txt']);
  });

  test('whose passwords are lost is refused until they are back', async () => {
    const path = join(dataDir, 'postgres.json');
    renameSync(path, `${path}.away`);
    expect(await codeOf(open(dataDir))).toBe('credentials_lost');
    writeFileSync(path, '{"superuser":"a","control":"b","rows":"c"}');
    expect(await codeOf(open(dataDir))).toBe('credentials_lost');
    expect(postmasterOf(dataDir)).toBeNull();
    rmSync(path);
    renameSync(`${path}.away`, path);
    await (await open(dataDir)).stop();
  });

  test('in which PostgreSQL can not start says why', async () => {
    writeFileSync(join(dataDir, 'postgres', 'postgresql.auto.conf'), "max_connections = 'many'\n");
    const refusal = await open(dataDir).catch((error) => error);
    expect(refusal.code).toBe('start_failed');
    expect(refusal.message).toContain('max_connections');
    expect(existsSync(join(dataDir, 'server.lock'))).toBeFalse();
    writeFileSync(join(dataDir, 'postgres', 'postgresql.auto.conf'), '');
  });
});
