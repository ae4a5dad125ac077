import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Everything of this runtime below the data dir. */
export interface Layout {
  /** The source of each deployment while it is made. */
  work: string;
  /** What was built, a folder for each deployment, and beside it a note of whose it is. */
  artifacts: string;
  /** Of each instance: what it may write, and which process it is. Of each app: what its builds may keep. */
  run: string;
  /** Which copies of the server use this folder; each holds a lock that bears its name. */
  nodes: string;
}

export function makeLayout(dataDir: string): Layout {
  const top = join(dataDir, 'runtime');
  // Apps, which are other users, pass through these folders to what is theirs, and list none of them.
  for (const folder of [top, join(top, 'work'), join(top, 'artifacts'), join(top, 'run')])
    made(folder, 0o711);
  made(join(top, 'nodes'), 0o700);
  return {
    work: join(top, 'work'),
    artifacts: join(top, 'artifacts'),
    run: join(top, 'run'),
    nodes: join(top, 'nodes'),
  };
}

function made(folder: string, mode: number): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, mode);
}

/** Names of folders come from ids alone. */
export function checkedId(id: unknown): string {
  if (typeof id !== 'string' || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    throw new Error(`Not an id: ${JSON.stringify(id)}.`);
  return id;
}
