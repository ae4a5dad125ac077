import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import pg from 'pg';
import {
  errorCode,
  freshDatabase,
  hasPostgres15,
  query,
  startPostgres15,
  type TemporaryFolder,
  temporaryFolder,
  testDatabase,
} from '../database/testing.ts';
import { createRawDatabases, type RawDatabases } from './raw-databases.ts';
import { externalServer, inDatabase, isRawName } from './server.ts';
import { installation, newDatabaseSpec, newRawDatabase } from './testing.ts';

let folder: TemporaryFolder;
const password = 'p@ss/w:rd';
const urlOn15 = (user: string, database: string) =>
  `postgresql://${user}:${encodeURIComponent(password)}@localhost/${database}?host=${encodeURIComponent(folder.path)}`;

beforeAll(async () => {
  if (!hasPostgres15) return;
  folder = temporaryFolder();
  await startPostgres15(folder.path, { password });
  await query(
    urlOn15('postgres', 'postgres'),
    `create role owner login createrole createdb password '${password}';
     create role plain login createrole password '${password}'`,
  );
  for (const owner of ['owner', 'plain'])
    await query(urlOn15('postgres', 'postgres'), `create database of_${owner} owner ${owner}`);
});
afterAll(() => folder?.remove());

describe.if(hasPostgres15)('an external server', () => {
  test('whose databases are open to all logins is rejected until they are closed', async () => {
    const raw = createRawDatabases({ installation, server: externalServer(urlOn15('owner', 'of_owner')) });
    expect(await raw.findProblem()).toEqual({
      kind: 'open_to_all',
      databases: ['of_plain', 'postgres', 'template1'],
    });
    const wanted = await newDatabaseSpec(raw);
    const failed = await raw
      .withLock(wanted.name, (database) => database.ensure(wanted))
      .catch((error) => error);
    const [help] = /revoke connect on database .* from public;/.exec(failed.message) ?? [];
    await query(urlOn15('postgres', 'postgres'), help ?? '');
    expect(await raw.findProblem()).toBeNull();
    expect(
      await query(urlOn15('owner', 'of_owner'), "select from pg_roles where rolname ~ '^svc_raw'"),
    ).toEqual([]);
  });

  test('whose login cannot create databases is rejected', async () => {
    const raw = createRawDatabases({ installation, server: externalServer(urlOn15('plain', 'of_plain')) });
    expect(await raw.findProblem()).toEqual({ kind: 'may_not_create', login: 'plain' });
  });
});

const servers = ['the embedded PostgreSQL', ...(hasPostgres15 ? ['PostgreSQL 15'] : [])];
describe.each(servers)('on %s', (which) => {
  let url: string;
  let raw: RawDatabases;
  let drop = async () => {};
  beforeAll(async () => {
    if (which === 'PostgreSQL 15') {
      url = urlOn15('owner', 'of_owner');
      await query(
        urlOn15('postgres', 'postgres'),
        'revoke connect on database postgres, template1, of_plain from public',
      );
    } else {
      const fresh = await freshDatabase();
      url = fresh.controlUrl;
      drop = fresh.drop;
    }
    raw = createRawDatabases({ installation, server: externalServer(url) });
  });
  afterAll(async () => {
    for (const { name } of await query(
      url,
      "select rolname as name from pg_roles where rolname ~ '^svc_raw_'",
    ))
      await raw.withLock(name, (database) => database.drop());
    await drop();
  });

  const listRemains = async (name: string) =>
    query(
      url,
      `select rolname as name from pg_roles where rolname = '${name}'
       union all select datname from pg_database where datname = '${name}'`,
    );

  test('a role can use its own database and no other', async () => {
    const [mine, other] = [await newRawDatabase(raw), await newRawDatabase(raw)];
    await query(mine.url, 'create table pets (name text); insert into pets values ($$Rex$$)');
    await query(
      mine.url,
      'create schema extra; create table extra.more (a int); create temporary table t (a int)',
    );
    await query(
      mine.url,
      'drop schema public cascade; create schema public; create table public.again (a int)',
    );
    const control = new URL(url).pathname.slice(1);
    for (const database of [control, 'postgres', 'template1', other.name]) {
      const inside = Object.assign(new URL(mine.url), { pathname: `/${database}` }).href;
      expect([database, await errorCode(query(inside, 'select 1'))]).toEqual([database, '42501']);
    }
    expect(await query(other.url, 'select current_user as user')).toEqual([{ user: other.name }]);
  });

  test('a role has no rights outside its database, and cannot grant access to it', async () => {
    const [mine, other] = [await newRawDatabase(raw), await newRawDatabase(raw)];
    const [attributes] = await query(
      mine.url,
      `select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolconnlimit,
         (select count(*)::int from pg_auth_members where member = r.oid) as memberships
       from pg_roles r where rolname = current_user`,
    );
    expect(attributes).toEqual({
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolreplication: false,
      rolbypassrls: false,
      rolconnlimit: 3,
      memberships: 0,
    });
    const login = new pg.Client({ connectionString: url }).user;
    for (const sql of [
      'create role another',
      'create database another',
      `set role "${login}"`,
      `grant "${login}" to current_user`,
      `alter role "${login}" password 'mine'`,
      `alter role "${other.name}" password 'mine'`,
      `alter database "${mine.name}" connection limit 99`,
      `alter role "${mine.name}" connection limit 99`,
      `alter database "${mine.name}" owner to current_user`,
      'create extension dblink',
      'select pg_read_file($$/etc/passwd$$)',
      "copy (select 1) to program 'true'",
    ]) {
      expect([sql, await errorCode(query(mine.url, sql))]).toEqual([sql, '42501']);
    }
    await query(mine.url, `grant connect on database "${mine.name}" to public, "${other.name}"`);
    const theirs = Object.assign(new URL(other.url), { pathname: `/${mine.name}` }).href;
    expect(await errorCode(query(theirs, 'select 1'))).toBe('42501');
  });

  test('a role gets exactly its limit of connections', async () => {
    const { url: mine, connectionsMax } = await newRawDatabase(raw);
    const clients = Array.from({ length: connectionsMax }, () => new pg.Client({ connectionString: mine }));
    for (const client of clients) await client.connect();
    expect(await errorCode(query(mine, 'select 1'))).toBe('53300');
    await Promise.all(clients.map((client) => client.end()));
  });

  test('ensure is idempotent and resumes after an interruption', async () => {
    const done = await newRawDatabase(raw);
    await query(done.url, 'create schema own; create table own.kept (a int)');
    // Without this schema ensure would fail if it connected again, which it must not do.
    await query(done.url, 'drop schema public cascade');
    await raw.withLock(done.name, (database) => database.ensure(done));
    await query(done.url, 'select * from own.kept');

    const role = await newDatabaseSpec(raw);
    await query(url, `create role "${role.name}" nologin`);
    const half = await newDatabaseSpec(raw);
    await query(url, `create role "${half.name}" nologin`);
    await query(url, `create database "${half.name}" template template0 allow_connections false`);
    for (const wanted of [role, half]) {
      expect(await errorCode(query(wanted.url, 'select 1'))).not.toBe('no error');
      await raw.withLock(wanted.name, (database) => database.ensure(wanted));
      await query(wanted.url, 'create table mine (a int)');
      const foreign = Object.assign(new URL(done.url), { pathname: `/${wanted.name}` }).href;
      expect(await errorCode(query(foreign, 'select 1'))).toBe('42501');
    }
  });

  test('work gives up while the lock of its database is taken', async () => {
    const { name } = await newDatabaseSpec(raw);
    const hasty = createRawDatabases({ installation, server: externalServer(url), lockMsMax: 200 });
    const wait = () => hasty.withLock(name, async () => {});
    await raw.withLock(name, async () => {
      expect(await errorCode(wait())).toBe('55P03');
    });
    expect(await errorCode(wait())).toBe('no error');
  });

  test('close disconnects clients and rejects logins, and ensure reopens with the data', async () => {
    const made = await newRawDatabase(raw);
    const client = new pg.Client({ connectionString: made.url });
    const ended = new Promise<string>((resolve) =>
      client.on('error', (error) => resolve((error as pg.DatabaseError).code ?? '')),
    );
    await client.connect();
    await client.query('create table kept (a int)');
    await raw.withLock(made.name, (database) => database.close());
    expect(await ended).toBe('57P01');
    expect(await errorCode(query(made.url, 'select 1'))).toBe('28000');
    await raw.withLock(made.name, (database) => database.ensure(made));
    await query(made.url, 'select * from kept');
  });

  test('drop removes database, role and connections, and is idempotent', async () => {
    const made = await newRawDatabase(raw);
    const client = new pg.Client({ connectionString: made.url });
    client.on('error', () => {});
    await client.connect();
    await client.query('create table kept (a int); begin; lock kept');
    for (const _ of ['once', 'again']) {
      await raw.withLock(made.name, (database) => database.drop());
      expect(await listRemains(made.name)).toEqual([]);
    }
    expect(await errorCode(query(made.url, 'select 1'))).toBe('28P01');
    const role = await newDatabaseSpec(raw);
    await query(url, `create role "${role.name}" nologin`);
    await raw.withLock(role.name, (database) => database.drop());
    expect(await listRemains(role.name)).toEqual([]);
  });

  test('concurrent ensure and drop run one after the other', async () => {
    const wanted = await newDatabaseSpec(raw);
    const turns = Array.from({ length: 4 }, (_, turn) =>
      raw.withLock(wanted.name, (database) => (turn % 2 === 0 ? database.ensure(wanted) : database.drop())),
    );
    await Promise.all(turns);
    await raw.withLock(wanted.name, (database) => database.drop());
    expect(await listRemains(wanted.name)).toEqual([]);
  });

  test('a database of another installation is not dropped, closed or taken over', async () => {
    const made = await newRawDatabase(raw);
    const copy = createRawDatabases({ installation: 'copy', server: externalServer(url) });
    await copy.withLock(made.name, (database) => database.drop());
    await copy.withLock(made.name, (database) => database.close());
    const taken = copy.withLock(made.name, (database) => database.ensure({ ...made, password: 'mine' }));
    expect(await taken.catch((error) => error.message)).toContain('another installation');
    await query(made.url, 'select 1');
  });

  test('an existing database is reopened even if the server has a problem now', async () => {
    const made = await newRawDatabase(raw);
    await raw.withLock(made.name, (database) => database.close());
    const adminUrl =
      which === 'PostgreSQL 15' ? urlOn15('postgres', 'postgres') : (await testDatabase()).adminUrl;
    await query(adminUrl ?? '', `create database open_to_all_${made.name.slice(-8)}`);
    expect((await raw.findProblem())?.kind).toBe('open_to_all');
    const another = await newDatabaseSpec(raw);
    expect(raw.withLock(another.name, (database) => database.ensure(another))).rejects.toThrow(
      'revoke connect',
    );
    await raw.withLock(made.name, (database) => database.ensure(made));
    await query(adminUrl ?? '', `drop database open_to_all_${made.name.slice(-8)}`);
    await query(made.url, 'select 1');
  });

  test('only names of raw databases are accepted', async () => {
    for (const name of [
      'postgres',
      'svc_raw_',
      `svc_raw_${'0'.repeat(31)}G`,
      `svc_raw_${'0'.repeat(32)}\n`,
    ]) {
      expect(isRawName(name)).toBeFalse();
      expect(() => raw.withLock(name, (database) => database.drop())).toThrow();
    }
    expect(inDatabase(url, 'x')).toContain('/x?');
  });
});
