import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Everything of this runtime below the data dir. */
export interface Layout {
  /** The source of each deployment while it is made. */
  work: string;
  /** What was built, a folder for each build, and beside it a note of whose it is. */
  artifacts: string;
  /** Of each instance and build: what it may write, and which process it is. */
  run: string;
  /** Of each app: what its builds keep for one another. */
  homes: string;
  /** Which copies of the server use this folder; each holds a lock that bears its name. */
  nodes: string;
  /** Says where the users of apps begin. */
  users: string;
  /** What Node.js loads into an app before the app's own code. */
  preload: string;
}

export function makeLayout(dataDir: string): Layout {
  const top = join(dataDir, 'runtime');
  // Apps, which are other users, pass through these folders to what is theirs, and list none of them.
  made(top, 0o711);
  for (const name of ['work', 'artifacts', 'run', 'homes']) made(join(top, name), 0o711);
  made(join(top, 'nodes'), 0o700);
  putWhole(join(top, 'package.json'), boundary);
  putWhole(join(top, 'loopback.cjs'), readFileSync(join(import.meta.dir, 'loopback.cjs'), 'utf8'));
  return {
    work: join(top, 'work'),
    artifacts: join(top, 'artifacts'),
    run: join(top, 'run'),
    homes: join(top, 'homes'),
    nodes: join(top, 'nodes'),
    users: join(top, 'users'),
    preload: join(top, 'loopback.cjs'),
  };
}

function made(folder: string, mode: number): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, mode);
}

/** For apps to read; whole at every moment, since a copy of the server may run apps here already. */
function putWhole(path: string, text: string): void {
  const beside = `${path}.${crypto.randomUUID()}`;
  writeFileSync(beside, text);
  chmodSync(beside, 0o644);
  renameSync(beside, path);
}

/**
 * The text of a `package.json` that says nothing: Node.js and npm look upwards for one, and what lies above the data dir is
 * not the apps'.
 */
export const boundary = '{}\n';

/** Names of folders come from ids alone. */
export function checkedId(id: unknown): string {
  if (!isId(id)) throw new Error(`Not an id: ${JSON.stringify(id)}.`);
  return id;
}

export function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
}
