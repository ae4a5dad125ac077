import { describe, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProcess } from '../os/processes.ts';
import { type Database, DatabaseError, withClient } from './connect.ts';
import { useDataDir, waitUntil } from './hooks-testing.ts';
import { copyStoppedDataDir, errorCode, query } from './testing.ts';

const dataDir = useDataDir();
const { open, serve, postmaster } = dataDir;

const waitForRestart = (database: Database, oldPid: number) =>
  waitUntil(
    async () =>
      (await errorCode(query(database.controlUrl, 'select 1'))) === 'no error' && postmaster() !== oldPid,
  );

describe('a restart', () => {
  test('finds the data and applies the settings of this release', async () => {
    const before = await open();
    await query(before.controlUrl, 'create table svc.before_restart as select 2 as value');
    await before.stop();
    writeFileSync(join(dataDir.path, 'postgres', 'postgresql.conf'), "fsync = off\nshared_buffers = '1MB'\n");
    writeFileSync(join(dataDir.path, 'postgres', 'pg_hba.conf'), 'local all all trust\n');
    const database = await open();
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

  test('adopts the PostgreSQL of a killed server and stops it at the end', async () => {
    const server = serve();
    await query(await server.line(), 'create table svc.before_kill as select 2 as value');
    const pid = postmaster();
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    expect(postmaster()).toBe(pid);

    const database = await open();
    expect(postmaster()).toBe(pid);
    expect(await query(database.controlUrl, 'select value from svc.before_kill')).toEqual([{ value: 2 }]);
    await database.stop();
    expect(postmaster()).toBeNull();
    expect(findProcess(pid ?? 0)).toBeNull();
  });

  test('restarts an adopted PostgreSQL that dies', async () => {
    const server = serve();
    await server.line();
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    const database = await open();
    const pid = postmaster() ?? 0;
    process.kill(pid, 'SIGKILL');
    await waitForRestart(database, pid);
    await database.stop();
  });

  test('gives up on a PostgreSQL that keeps dying, and resolves exited', async () => {
    const database = await open();
    let isGivenUp = false;
    void database.exited.then(() => {
      isGivenUp = true;
    });
    await waitUntil(async () => {
      const pid = postmaster();
      if (pid && findProcess(pid)) process.kill(pid, 'SIGKILL');
      return isGivenUp;
    });
    await database.stop();
  });

  test('keeps every acknowledged write when PostgreSQL is killed', async () => {
    const database = await open();
    await query(database.controlUrl, 'create table svc.numbers (n int)');
    const busy = errorCode(
      query(database.controlUrl, 'select count(*) from generate_series(1, 1e12::bigint)'),
    );
    let acknowledged = 0;
    const writer = errorCode(
      withClient(database.controlUrl, async (client) => {
        for (;;)
          await client
            .query('insert into svc.numbers values ($1)', [acknowledged + 1])
            .then(() => acknowledged++);
      }),
    );
    await waitUntil(() => acknowledged >= 50);
    const pid = postmaster() ?? 0;
    process.kill(pid, 'SIGKILL');
    await waitForRestart(database, pid);

    await Promise.all([busy, writer]);
    const [found] = await query(
      database.controlUrl,
      'select count(*)::int as count, max(n) as max from svc.numbers',
    );
    expect(found?.count).toBe(found?.max);
    expect(found?.max).toBeGreaterThanOrEqual(acknowledged);
    await database.stop();
  });

  test('works after stopNow', async () => {
    const database = await open();
    await query(database.controlUrl, 'create table svc.before_immediate_stop as select 2 as value');
    database.stopNow();
    const again = await open();
    expect(await query(again.controlUrl, 'select value from svc.before_immediate_stop')).toEqual([
      { value: 2 },
    ]);
    expect(await Promise.race([database.exited.then(() => 'unexpected'), Bun.sleep(100)])).toBeUndefined();
    await again.stop();
  });

  test('works when another program has the process ID of a stale postmaster.pid', async () => {
    const owner = statSync(join(dataDir.path, 'postgres'));
    const stranger = spawn('sleep', ['60'], { uid: owner.uid, gid: owner.gid });
    dataDir.adopt(stranger);
    mkdirSync(join(dataDir.path, 'run'), { recursive: true });
    for (const file of ['postgres/postmaster.pid', 'run/.s.PGSQL.5432.lock']) {
      const lines = [
        stranger.pid,
        join(dataDir.path, 'postgres'),
        1,
        5432,
        join(dataDir.path, 'run'),
        '',
        ' 1 1',
        'ready',
      ];
      writeFileSync(join(dataDir.path, file), lines.join('\n'));
    }
    const database = await open();
    await query(database.controlUrl, 'select 1');
    await database.stop();
    expect(findProcess(stranger.pid ?? 0)).not.toBeNull();
  });

  test('works when a crash left postmaster.pid empty', async () => {
    writeFileSync(join(dataDir.path, 'postgres', 'postmaster.pid'), '');
    await (await open()).stop();
  });
});

describe('one server per data dir', () => {
  test('a second server is rejected with the process ID of the first', async () => {
    const server = serve();
    await server.line();
    const error = await open().catch((cause) => cause);
    expect(error).toBeInstanceOf(DatabaseError);
    expect(error.code).toBe('data_dir_in_use');
    expect(error.message).toContain(`process ${server.pid}`);
    server.send('stop');
    expect((await server.ended).code).toBe(0);
    await (await open()).stop();
  });

  test('two servers run on two data dirs', async () => {
    const other = await copyStoppedDataDir(join(dataDir.folder.path, 'other'));
    const [one, two] = await Promise.all([open(), open(other)]);
    await query(one.controlUrl, 'create table svc.here (a int)');
    expect(await errorCode(query(two.controlUrl, 'select * from svc.here'))).toBe('42P01');
    await Promise.all([one.stop(), two.stop()]);
  });

  test('a lock whose process ID was reused does not count', async () => {
    writeFileSync(
      join(dataDir.path, 'server.lock'),
      JSON.stringify({ pid: process.pid, started: 'long ago' }),
    );
    await (await open()).stop();
  });
});

test('Ctrl-C in the terminal reaches the server but not PostgreSQL', async () => {
  const shutdowns = () =>
    readFileSync(join(dataDir.path, 'postgres.log'), 'utf8').match(/received fast shutdown request/g)
      ?.length ?? 0;
  const before = shutdowns();
  const server = serve({ detached: true });
  await server.line();
  process.kill(-server.pid, 'SIGINT');
  await server.ended;
  const database = await open();
  await database.stop();
  expect(shutdowns() - before).toBe(1);
});
