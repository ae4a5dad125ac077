import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type Database, openDatabase } from './database.ts';
import { openExternal, urlFor } from './external.ts';
import {
  codeOf,
  hasPostgres15,
  query,
  startPostgres15,
  type TemporaryFolder,
  temporaryFolder,
} from './testing.ts';

setDefaultTimeout(30_000);

const required = /\bpostgres\b/.test(process.env.SVC_TEST_REQUIRE ?? '');
const present = hasPostgres15;

test.each([
  [
    'postgresql://u:p@db.example:6543/main?sslmode=require',
    'postgresql://r:x@db.example:6543/main?sslmode=require',
  ],
  ['postgresql://u:p@localhost/main', 'postgresql://r:x@localhost/main'],
  ['postgres://db.example/main', 'postgres://r:x@db.example/main'],
  [
    'postgresql://u:p@localhost/main?host=%2Frun&port=6',
    'postgresql://r:x@localhost/main?host=%2Frun&port=6',
  ],
  ['postgresql://u:p@/main?host=/run', 'postgresql://r:x@localhost/main?host=%2Frun'],
  ['postgresql:///main?host=/run&user=u&password=p', 'postgresql://r:x@localhost/main?host=%2Frun'],
  ['postgresql://u@[::1]:5432/main', 'postgresql://r:x@[::1]:5432/main'],
])('the login in %s can be replaced', (url, replaced) => {
  expect(urlFor(url, { user: 'r', password: 'x' })).toBe(replaced);
});

test('a URL of something else is refused', async () => {
  const opening = openDatabase({
    dataDir: '/nonexistent',
    databaseUrl: 'mysql://root@localhost/db',
    log: () => {},
  });
  expect(await codeOf(opening)).toBe('bad_url');
});

test('a database that can not be reached is waited for, then named without its password', async () => {
  const lines: string[] = [];
  const url = 'postgresql://someone:hunter2@127.0.0.1:1/main';
  const refusal = await openExternal({ url, log: (line) => lines.push(line), connectMsMax: 400 }).catch(
    (e) => e,
  );
  expect(refusal.code).toBe('unreachable');
  expect(lines).toHaveLength(1);
  for (const text of [...lines, refusal.message]) {
    expect(text).toContain('someone@127.0.0.1:1/main');
    expect(text).not.toContain('hunter2');
  }
});

if (required) test('PostgreSQL 15 is on this machine', () => expect(present).toBeTrue());

describe.if(present)('with PostgreSQL 15', () => {
  let folder: TemporaryFolder;
  const password = 'p@ss/w:rd';

  beforeAll(async () => {
    folder = temporaryFolder();
    await startPostgres15(folder.path, password);
    await query(
      urlOf('postgres'),
      `create role owner login createrole password '${password}';
       create role plain login password '${password}'`,
    );
  });
  afterAll(() => folder.remove());

  const urlOf = (user: string, database = 'postgres') =>
    `postgresql://${user}:${encodeURIComponent(password)}@localhost/${database}?host=${encodeURIComponent(folder.path)}`;

  async function newDatabase(name: string, owner: string): Promise<string> {
    await query(urlOf('postgres'), `create database ${name} owner ${owner}`);
    return urlOf(owner, name);
  }

  const open = (url: string, more: { dataDatabaseUrl?: string } = {}): Promise<Database> =>
    openDatabase({ dataDir: '/nonexistent', databaseUrl: url, log: () => {}, ...more });

  test('the login for rows is made, and reaches nothing of the control plane', async () => {
    const url = await newDatabase('made', 'owner');
    const database = await open(url);
    expect(database).toMatchObject({ kind: 'external', controlUrl: url, adminUrl: null });
    const [who] = await query(
      database.rowsUrl,
      'select current_user as user, current_database() as database',
    );
    expect(who?.user).toMatch(/^svc_rows_[0-9a-f]{8}$/);
    expect(who?.database).toBe('made');
    for (const sql of [
      'select * from svc.platform_keys',
      'create schema mine',
      'create table public.mine (a int)',
    ]) {
      expect([sql, await codeOf(query(database.rowsUrl, sql))]).toEqual([sql, '42501']);
    }
    await database.stop();
    database.stopNow();
    await query(url, 'select 1');
  });

  test('servers that start at once on one database agree on it', async () => {
    const url = await newDatabase('at_once', 'owner');
    const databases = await Promise.all(Array.from({ length: 6 }, () => open(url)));
    expect(new Set(databases.map((database) => database.rowsUrl)).size).toBe(1);
    expect((await open(url)).rowsUrl).toBe(databases[0]!.rowsUrl);
  });

  test('two databases of one cluster have one each', async () => {
    const [one, two] = [await newDatabase('one', 'owner'), await newDatabase('two', 'owner')];
    const user = async (url: string) => new URL((await open(url)).rowsUrl).username;
    expect(await user(one)).not.toBe(await user(two));
  });

  test('it is made again, under its name, when it is gone or its password was changed', async () => {
    const url = await newDatabase('repaired', 'owner');
    const { rowsUrl } = await open(url);
    const role = new URL(rowsUrl).username;
    await query(urlOf('postgres'), `alter role ${role} password 'changed'`);
    expect((await open(url)).rowsUrl).toBe(rowsUrl);
    await query(rowsUrl, 'select 1');
    await query(url, `revoke all on database repaired from ${role}`);
    await query(url, `drop role ${role}`);
    expect((await open(url)).rowsUrl).toBe(rowsUrl);
    await query(rowsUrl, 'select 1');
  });

  test('a user who may not create roles is told the statements that help, and they do', async () => {
    const url = await newDatabase('plain_one', 'plain');
    const refusal = await open(url).catch((error) => error);
    expect(refusal.code).toBe('may_not_create_roles');
    const [create, grant] = /^ {2}(create role .*;)\n {2}(grant .*;)$/m.exec(refusal.message)?.slice(1) ?? [];
    expect(refusal.message).toContain('SVC_DATA_DATABASE_URL');
    await query(urlOf('postgres', 'plain_one'), `${create?.replace('<a password>', 'rows')}${grant}`);
    const user = /"(svc_rows_\w+)"/.exec(create ?? '')?.[1] ?? '';
    const dataDatabaseUrl = urlFor(url, { user, password: 'rows' });
    const database = await open(url, { dataDatabaseUrl });
    expect(database.rowsUrl).toBe(dataDatabaseUrl);
    expect(await query(database.rowsUrl, 'select current_user as user')).toEqual([{ user }]);
  });

  test('a wrong password is told at once', async () => {
    const url = urlFor(urlOf('owner'), { user: 'owner', password: 'wrong' });
    const began = Date.now();
    expect(await codeOf(open(url))).toBe('unreachable');
    expect(Date.now() - began).toBeLessThan(5_000);
  });

  test('a server older than 15 is refused', async () => {
    const url = await newDatabase('older', 'owner');
    // The setting can't be changed, but a function can stand before the one that reads it.
    await query(
      url,
      `create schema fake;
       create function fake.current_setting(text) returns text language sql as
         $$ select case $1 when 'server_version_num' then '140012' else '14.12' end $$`,
    );
    await query(urlOf('postgres'), 'alter database older set search_path = fake, pg_catalog');
    expect(await codeOf(open(url))).toBe('server_too_old');
  });
});
