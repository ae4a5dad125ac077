import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from './connect.ts';
import { type Database, openDatabase } from './database.ts';
import { DatabaseError } from './database-error.ts';
import { livingPostmaster } from './postmaster-file.ts';
import { identify } from './process-identity.ts';
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

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(5);
}

describe('a restart', () => {
  test('finds what was there and applies the settings of this release', async () => {
    const before = await open(dataDir);
    await query(before.controlUrl, 'create table svc.before_restart as select 2 as value');
    await before.stop();
    writeFileSync(join(dataDir, 'postgres', 'postgresql.conf'), "fsync = off\nshared_buffers = '1MB'\n");
    writeFileSync(join(dataDir, 'postgres', 'pg_hba.conf'), 'local all all trust\n');
    const database = await open(dataDir);
    expect(await query(database.controlUrl, 'select value from svc.before_restart')).toEqual([{ value: 2 }]);
    const settings = await query(
      database.adminUrl ?? '',
      `select name, setting from pg_settings
       where name in ('fsync', 'synchronous_commit', 'max_connections', 'shared_buffers', 'listen_addresses') order by 1`,
    );
    expect(settings.map(({ name, setting }) => `${name}=${setting}`)).toEqual([
      'fsync=on',
      'listen_addresses=',
      'max_connections=200',
      'shared_buffers=32768',
      'synchronous_commit=on',
    ]);
    const rules = await query(database.adminUrl ?? '', 'select distinct auth_method from pg_hba_file_rules');
    expect(rules).toEqual([{ auth_method: 'scram-sha-256' }]);
    await database.stop();
  });

  test('works after the server was killed: its PostgreSQL is taken over, and stopped in the end', async () => {
    const server = serve();
    await query(await server.line(), 'create table svc.before_kill as select 2 as value');
    const pid = postmasterOf(dataDir);
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    expect(postmasterOf(dataDir)).toBe(pid);

    const database = await open(dataDir);
    expect(postmasterOf(dataDir)).toBe(pid);
    expect(await query(database.controlUrl, 'select value from svc.before_kill')).toEqual([{ value: 2 }]);
    await database.stop();
    expect(postmasterOf(dataDir)).toBeNull();
    expect(identify(pid ?? 0)).toBeNull();
  });

  test('a PostgreSQL that was taken over and dies is started again', async () => {
    const server = serve();
    await server.line();
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    const database = await open(dataDir);
    const pid = postmasterOf(dataDir) ?? 0;
    process.kill(pid, 'SIGKILL');
    await until(
      async () =>
        (await codeOf(query(database.controlUrl, 'select 1'))) === 'no error' &&
        postmasterOf(dataDir) !== pid,
    );
    await database.stop();
  });

  test('a PostgreSQL that keeps dying is given up, and that is told', async () => {
    const database = await open(dataDir);
    let gone = false;
    void database.exited.then(() => {
      gone = true;
    });
    await until(async () => {
      const pid = postmasterOf(dataDir);
      if (pid && identify(pid)) process.kill(pid, 'SIGKILL');
      return gone;
    });
    await database.stop();
  });

  test('works after PostgreSQL was killed in mid-work: nothing acknowledged is lost', async () => {
    const database = await open(dataDir);
    await query(database.controlUrl, 'create table svc.numbers (n int)');
    // A backend that never looks up from its work outlives the postmaster.
    const busy = codeOf(query(database.controlUrl, 'select count(*) from generate_series(1, 1e12::bigint)'));
    let acknowledged = 0;
    const writer = codeOf(
      withClient(database.controlUrl, async (client) => {
        for (;;)
          await client
            .query('insert into svc.numbers values ($1)', [acknowledged + 1])
            .then(() => acknowledged++);
      }),
    );
    await until(() => acknowledged >= 50);
    const pid = postmasterOf(dataDir) ?? 0;
    process.kill(pid, 'SIGKILL');
    await until(
      async () =>
        (await codeOf(query(database.controlUrl, 'select 1'))) === 'no error' &&
        postmasterOf(dataDir) !== pid,
    );

    await Promise.all([busy, writer]);
    const [found] = await query(
      database.controlUrl,
      'select count(*)::int as count, max(n) as max from svc.numbers',
    );
    expect(found?.count).toBe(found?.max);
    expect(found?.max).toBeGreaterThanOrEqual(acknowledged);
    await database.stop();
  });

  test('works after an immediate stop, which does not wait', async () => {
    const database = await open(dataDir);
    await query(database.controlUrl, 'create table svc.before_immediate_stop as select 2 as value');
    database.stopNow();
    const again = await open(dataDir);
    expect(await query(again.controlUrl, 'select value from svc.before_immediate_stop')).toEqual([
      { value: 2 },
    ]);
    expect(await Promise.race([database.exited.then(() => 'unexpected'), Bun.sleep(100)])).toBeUndefined();
    await again.stop();
  });

  test('works when a process of another program has got the number in a stale postmaster.pid', async () => {
    const owner = statSync(join(dataDir, 'postgres'));
    const stranger = spawn('sleep', ['60'], { uid: owner.uid, gid: owner.gid });
    children.push(stranger);
    mkdirSync(join(dataDir, 'run'), { recursive: true });
    for (const file of ['postgres/postmaster.pid', 'run/.s.PGSQL.5432.lock']) {
      const lines = [
        stranger.pid,
        join(dataDir, 'postgres'),
        1,
        5432,
        join(dataDir, 'run'),
        '',
        ' 1 1',
        'ready',
      ];
      writeFileSync(join(dataDir, file), lines.join('\n'));
    }
    const database = await open(dataDir);
    await query(database.controlUrl, 'select 1');
    await database.stop();
    expect(identify(stranger.pid ?? 0)).not.toBeNull();
  });

  test('works when a crash left postmaster.pid empty', async () => {
    writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), '');
    await (await open(dataDir)).stop();
  });
});

describe('one server per data dir', () => {
  test('a second one is refused with the number of the first, until the first is gone', async () => {
    const server = serve();
    await server.line();
    const refusal = await open(dataDir).catch((error) => error);
    expect(refusal).toBeInstanceOf(DatabaseError);
    expect(refusal.code).toBe('data_dir_in_use');
    expect(refusal.message).toContain(`process ${server.pid}`);
    server.tell('stop');
    expect((await server.ended).code).toBe(0);
    await (await open(dataDir)).stop();
  });

  test('two of them on two data dirs run side by side', async () => {
    const other = await stoppedDataDir(join(folder.path, 'other'));
    const [one, two] = await Promise.all([open(dataDir), open(other)]);
    await query(one.controlUrl, 'create table svc.here (a int)');
    expect(await codeOf(query(two.controlUrl, 'select * from svc.here'))).toBe('42P01');
    await Promise.all([one.stop(), two.stop()]);
  });

  test('a lock whose process number was given to another process does not count', async () => {
    writeFileSync(join(dataDir, 'server.lock'), JSON.stringify({ pid: process.pid, started: 'long ago' }));
    await (await open(dataDir)).stop();
  });
});

test('Ctrl-C in the terminal of the server leaves PostgreSQL to the server', async () => {
  const shutdowns = () =>
    readFileSync(join(dataDir, 'postgres.log'), 'utf8').match(/received fast shutdown request/g)?.length ?? 0;
  const before = shutdowns();
  const server = serve({ detached: true });
  await server.line();
  process.kill(-server.pid, 'SIGINT');
  await server.ended;
  const database = await open(dataDir);
  await database.stop();
  expect(shutdowns() - before).toBe(1);
});
