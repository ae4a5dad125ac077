import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, temporaryFolder } from './server.ts';

/** Debian's PostgreSQL 15, as an organisation's own database would be: a cluster of the test's own. */
const binaries = '/usr/lib/postgresql/15/bin';

export const hasPostgres15 = existsSync(join(binaries, 'postgres'));
export const needsPostgres15 = /\bpostgres\b/.test(process.env.SVC_TEST_REQUIRE ?? '');

export interface Postgres15 {
  /** Connects as a superuser to a database of the given name; `postgres` exists. */
  url(database: string): string;
  stop(): Promise<void>;
}

export async function startPostgres15(): Promise<Postgres15> {
  const folder = temporaryFolder();
  const port = freePort();
  const asUser =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
  const data = join(folder, 'pg');
  mkdirSync(data);
  writeFileSync(join(folder, 'password'), 'secret');
  if (asUser.length > 0)
    for (const path of [folder, data, join(folder, 'password')]) chownSync(path, ...postgresIds());
  const init = Bun.spawnSync([
    ...asUser,
    join(binaries, 'initdb'),
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'scram-sha-256',
    '--pwfile',
    join(folder, 'password'),
    '-N',
  ]);
  if (init.exitCode !== 0) throw new Error(`initdb failed: ${init.stderr}`);
  const server = Bun.spawn(
    [
      ...asUser,
      join(binaries, 'postgres'),
      '-D',
      data,
      '-p',
      String(port),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      `unix_socket_directories=${folder}`,
      '-c',
      'fsync=off',
    ],
    { stdout: 'ignore', stderr: 'ignore', stdin: 'ignore' },
  );
  const log = () =>
    existsSync(join(data, 'postmaster.pid')) ? readFileSync(join(data, 'postmaster.pid'), 'utf8') : '';
  for (const deadline = Date.now() + 20_000; !log().includes('ready'); await Bun.sleep(20)) {
    if (Date.now() > deadline) throw new Error('PostgreSQL 15 did not start.');
  }
  return {
    url: (database) => `postgresql://postgres:secret@127.0.0.1:${port}/${database}`,
    stop: async () => {
      server.kill('SIGINT');
      await server.exited;
    },
  };
}

function postgresIds(): [number, number] {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'));
  const [, , uid, gid] = (line ?? '').split(':');
  return [Number(uid), Number(gid)];
}
