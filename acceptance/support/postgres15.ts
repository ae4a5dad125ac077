import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, temporaryFolder } from './server.ts';
import { until } from './until.ts';

/** Debian's PostgreSQL 15, as an organisation's own database would be: a cluster of the test's own. */
const binaries = '/usr/lib/postgresql/15/bin';

export const hasPostgres15 = existsSync(join(binaries, 'postgres'));
export const needsPostgres15 = /\bpostgres\b/.test(process.env.SVC_TEST_REQUIRE ?? '');

export type Postgres15 = Awaited<ReturnType<typeof startPostgres15>>;

/** `config`: more settings of the server, such as `ssl=on`. */
export async function startPostgres15(config: (folder: string) => string[] = () => []) {
  const folder = temporaryFolder();
  const port = freePort();
  const data = join(folder, 'pg');
  const settings = config(folder).map((setting) => ` -c ${setting}`);
  const password = join(folder, 'password');
  mkdirSync(data);
  writeFileSync(password, 'secret');
  const isRoot = process.getuid?.() === 0;
  // PostgreSQL does not run as root.
  if (isRoot) Bun.spawnSync(['chown', '-R', 'postgres:postgres', folder]);
  const asUser = isRoot ? 'setpriv --reuid=postgres --regid=postgres --clear-groups'.split(' ') : [];
  const command = (line: string) => [...asUser, ...`${binaries}/${line}`.split(' ')];
  const init = Bun.spawnSync(
    command(`initdb -D ${data} -U postgres -A scram-sha-256 --pwfile ${password} -N`),
  );
  if (init.exitCode !== 0) throw new Error(`initdb failed: ${init.stderr}`);
  const server = Bun.spawn(
    command(
      `postgres -D ${data} -p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c fsync=off${settings.join('')}`,
    ),
    { stdout: 'ignore', stderr: 'ignore', stdin: 'ignore' },
  );
  const pidFile = join(data, 'postmaster.pid');
  const isReady = async () => existsSync(pidFile) && readFileSync(pidFile, 'utf8').includes('ready');
  await until('PostgreSQL 15 has started', isReady, 20_000);
  return {
    port,
    /** Connects as a superuser; the database `postgres` exists. */
    url: (database: string) => `postgresql://postgres:secret@127.0.0.1:${port}/${database}`,
    stop: async () => {
      server.kill('SIGINT');
      await server.exited;
    },
  };
}
