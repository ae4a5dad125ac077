import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Lock, takeLock } from '../../database/lock-file.ts';
import { isId } from './layout.ts';

/** Which copy of the server this is: the name of one that has died here, so that what was its is known as ours. */
export interface Nodes {
  own: string;
  /** Further copies that have died: what they left is ours to put away. */
  dead: readonly string[];
  /** Once that is done. */
  forgetDead(): void;
  release(): void;
}

export function takeNode(folder: string): Nodes {
  const taken = readdirSync(folder).flatMap((name) => {
    if (!isId(name)) return [];
    const lock = takeLock(join(folder, name));
    return 'release' in lock ? [{ name, lock }] : [];
  });
  const [first, ...dead] = taken;
  const own = first ?? fresh(folder);
  return {
    own: own.name,
    dead: dead.map(({ name }) => name),
    forgetDead: () => {
      for (const { lock } of dead) lock.release();
    },
    // Emptied rather than removed: the name is taken up again at the next start.
    release: () => {
      const empty = join(folder, `${own.name}.free`);
      writeFileSync(empty, '', { mode: 0o600 });
      renameSync(empty, join(folder, own.name));
    },
  };
}

function fresh(folder: string): { name: string; lock: Lock } {
  const name = crypto.randomUUID();
  const lock = takeLock(join(folder, name));
  if (!('release' in lock)) throw new Error(`Another has just made ${name}.`);
  return { name, lock };
}
