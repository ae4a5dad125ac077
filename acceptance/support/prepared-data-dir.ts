import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root, temporaryFolder } from './server.ts';

let prepared: Promise<string> | undefined;

/**
 * A data dir as the first start of a server finds it behind `svc-admin migrate`: PostgreSQL with every migration, no key,
 * no tenant. Made once, then copied: most of what a server does at its first start is the same each time.
 */
export async function copyPreparedDataDir(to: string): Promise<void> {
  prepared ??= prepare();
  mkdirSync(dirname(to), { recursive: true });
  await ran(['cp', '-a', '--reflink=auto', await prepared, to]);
}

async function prepare(): Promise<string> {
  const dataDir = join(temporaryFolder(), 'prepared');
  await ran([join(root, 'svc-admin'), 'migrate'], { SVC_DATA_DIR: dataDir, SVC_DATABASE_URL: '' });
  // What tells that a tool was there before the server.
  for (const name of ['postgres.commands', 'postgres.log']) {
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
  return dataDir;
}

async function ran(command: string[], env: Record<string, string> = {}): Promise<void> {
  const child = Bun.spawn(command, {
    cwd: root,
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${errors}`);
}
