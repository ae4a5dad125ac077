import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { patientMs } from '../../../../scripts/patience.ts';
import { type Database, openDatabase, openExternal, withLogin } from './database.ts';
import {
  errorCode,
  hasPostgres15,
  query,
  startPostgres15,
  type TemporaryFolder,
  temporaryFolder,
} from './testing.ts';

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
])('withLogin replaces the login in %s', (url, replaced) => {
  expect(withLogin(url, { user: 'r', password: 'x' })).toBe(replaced);
});

test('a URL of another database system is rejected', async () => {
  const opening = openDatabase({
    dataDir: '/nonexistent',
    databaseUrl: 'mysql://root@localhost/db',
    log: () => {},
  });
  expect(await errorCode(opening)).toBe('bad_url');
});

test('waits for an unreachable database, then names it without its password', async () => {
  const lines: string[] = [];
  const url = 'postgresql://someone:hunter2@127.0.0.1:1/main';
  const error = await openExternal({ url, log: (line) => lines.push(line), connectMsMax: 400 }).catch(
    (e) => e,
  );
  expect(error.code).toBe('unreachable');
  expect(lines).toHaveLength(1);
  for (const text of [...lines, error.message]) {
    expect(text).toContain('someone@127.0.0.1:1/main');
    expect(text).not.toContain('hunter2');
  }
});

describe.if(hasPostgres15)('with PostgreSQL 15', () => {
  let folder: TemporaryFolder;
  const password = 'p@ss/w:rd';

  beforeAll(async () => {
    folder = temporaryFolder();
    await startPostgres15(folder.path, { password });
    await query(
      loginUrl('postgres'),
      `create role owner login createrole password '${password}';
       create role plain login password '${password}'`,
    );
  });
  afterAll(() => folder.remove());

  const loginUrl = (user: string, database = 'postgres') =>
    `postgresql://${user}:${encodeURIComponent(password)}@localhost/${database}?host=${encodeURIComponent(folder.path)}`;

  async function newDatabase(name: string, owner: string): Promise<string> {
    await query(loginUrl('postgres'), `create database ${name} owner ${owner}`);
    return loginUrl(owner, name);
  }

  const open = (url: string, more: { dataDatabaseUrl?: string } = {}): Promise<Database> =>
    openDatabase({ dataDir: '/nonexistent', databaseUrl: url, log: () => {}, ...more });

  test('creates a login for rows without access to the control plane', async () => {
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
      expect([sql, await errorCode(query(database.rowsUrl, sql))]).toEqual([sql, '42501']);
    }
    await database.stop();
    database.stopNow();
    await query(url, 'select 1');
  });

  test('servers that start at the same time use the same login for rows', async () => {
    const url = await newDatabase('at_once', 'owner');
    const databases = await Promise.all(Array.from({ length: 6 }, () => open(url)));
    expect(new Set(databases.map((database) => database.rowsUrl)).size).toBe(1);
    expect((await open(url)).rowsUrl).toBe(databases[0]!.rowsUrl);
  });

  test('two databases of one cluster have different logins for rows', async () => {
    const [one, two] = [await newDatabase('one', 'owner'), await newDatabase('two', 'owner')];
    const user = async (url: string) => new URL((await open(url)).rowsUrl).username;
    expect(await user(one)).not.toBe(await user(two));
  });

  test('restores the login for rows when it was dropped or its password changed', async () => {
    const url = await newDatabase('repaired', 'owner');
    const { rowsUrl } = await open(url);
    const role = new URL(rowsUrl).username;
    await query(loginUrl('postgres'), `alter role ${role} password 'changed'`);
    expect((await open(url)).rowsUrl).toBe(rowsUrl);
    await query(rowsUrl, 'select 1');
    await query(url, `revoke all on database repaired from ${role}`);
    await query(url, `drop role ${role}`);
    expect((await open(url)).rowsUrl).toBe(rowsUrl);
    await query(rowsUrl, 'select 1');
  });

  test('a user who cannot create roles gets the statements that solve it', async () => {
    const url = await newDatabase('plain_one', 'plain');
    const error = await open(url).catch((error) => error);
    expect(error.code).toBe('may_not_create_roles');
    const [create, grant] = /^ {2}(create role .*;)\n {2}(grant .*;)$/m.exec(error.message)?.slice(1) ?? [];
    expect(error.message).toContain('SVC_DATA_DATABASE_URL');
    await query(loginUrl('postgres', 'plain_one'), `${create?.replace('<a password>', 'rows')}${grant}`);
    const user = /"(svc_rows_\w+)"/.exec(create ?? '')?.[1] ?? '';
    const dataDatabaseUrl = withLogin(url, { user, password: 'rows' });
    const database = await open(url, { dataDatabaseUrl });
    expect(database.rowsUrl).toBe(dataDatabaseUrl);
    expect(await query(database.rowsUrl, 'select current_user as user')).toEqual([{ user }]);
  });

  test('a wrong password is reported at once', async () => {
    const url = withLogin(loginUrl('owner'), { user: 'owner', password: 'wrong' });
    const began = Date.now();
    expect(await errorCode(open(url))).toBe('unreachable');
    expect(Date.now() - began).toBeLessThan(patientMs(5_000));
  });

  test('a server older than 15 is rejected', async () => {
    const url = await newDatabase('older', 'owner');
    // The setting cannot be changed, but a function of the same name can shadow the one that reads it.
    await query(
      url,
      `create schema fake;
       create function fake.current_setting(text) returns text language sql as
         $$ select case $1 when 'server_version_num' then '140012' else '14.12' end $$`,
    );
    await query(loginUrl('postgres'), 'alter database older set search_path = fake, pg_catalog');
    expect(await errorCode(open(url))).toBe('server_too_old');
  });
});
