import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { behind } from './database.ts';
import { startServer, temporaryFolder } from './server.ts';

let prepared: Promise<string> | undefined;

/**
 * A data dir as a server leaves it behind its first start, without what must not be the same in two places: its id, its
 * secrets and its ports. Made once, then copied: most of what a server does at its first start is the same each time, and
 * the two RSA keys and the first password take longer than all the rest.
 */
export async function copyPreparedDataDir(to: string): Promise<void> {
  prepared ??= prepare();
  mkdirSync(dirname(to), { recursive: true });
  await copy(await prepared, to);
}

async function prepare(): Promise<string> {
  const dataDir = join(temporaryFolder(), 'prepared');
  const server = await startServer({ dataDir, env: { SVC_DATABASE_URL: '' }, isShared: true });
  const database = behind(server);
  await database.query(
    `delete from svc.platform_keys where name not in ('oauth.jwks', 'git_host.app', 'seeded_admin')`,
  );
  await database.close();
  const code = await server.stop();
  if (code !== 0) throw new Error(`The server to copy from ended with ${code}: ${server.output()}`);
  for (const name of ['postgres.commands', 'postgres.log', 'raw-db.port', 'runtime', 'git-work']) {
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
  return dataDir;
}

async function copy(from: string, to: string): Promise<void> {
  const child = Bun.spawn(['cp', '-a', '--reflink=auto', from, to], { stdin: 'ignore', stderr: 'pipe' });
  const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`Copying a data dir ended with ${code}: ${errors}`);
}
