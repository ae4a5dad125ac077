import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const controllers = ['memory', 'cpu', 'cpuacct', 'pids'] as const;
export type Controller = (typeof controllers)[number];

export interface Hierarchy {
  version: 1 | 2;
  holds: readonly Controller[];
  /** The group that the server is in. */
  own: string;
  /** Lets groups below a folder of ours have limits. */
  passDown(folder: string): void;
}

interface Mount {
  version: 1 | 2;
  at: string;
  root: string;
  holds: Controller[];
}

/**
 * Always below the group that the server itself is in, so that no app escapes what the server is held to. `auto` takes
 * only those hierarchies where that is the top of what is to be seen, as in a container: a group further down is
 * somebody's who manages it, and whether it was handed to the server can not be seen (`own` says that it was).
 */
export function findHierarchies(use: 'auto' | 'own', mode: 'take' | 'look'): Hierarchy[] {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return [];
  const text = readOr('/proc/self/cgroup');
  const taken = new Set<Controller>();
  return mounts().flatMap((mount) => {
    const own = ownGroup(text, mount);
    if (own === null || (use === 'auto' && own !== mount.at)) return [];
    const holds = mount.holds.filter((name) => !taken.has(name));
    if (holds.length === 0) return [];
    const wanted = holds.map((name) => `+${name}`).join(' ');
    if (!isWritable(own)) return [];
    if (mount.version === 2 && mode === 'take' && !canLimitBelow(own, wanted)) return [];
    for (const name of holds) taken.add(name);
    const passDown = (folder: string) => {
      if (mount.version === 2) writeFileSync(join(folder, 'cgroup.subtree_control'), wanted);
    };
    return [{ version: mount.version, holds, own, passDown }];
  });
}

function mounts(): Mount[] {
  return readOr('/proc/self/mountinfo')
    .split('\n')
    .flatMap((line): Mount[] => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , root = '/', at = ''] = before.split(' ');
      const [type, , options = ''] = after.split(' ');
      if (type === 'cgroup') {
        const names = options.split(',');
        return [{ version: 1, at, root, holds: controllers.filter((name) => names.includes(name)) }];
      }
      if (type !== 'cgroup2') return [];
      const names = readOr(join(at, 'cgroup.controllers')).trim().split(' ');
      return [{ version: 2, at, root, holds: controllers.filter((name) => names.includes(name)) }];
    })
    .filter(({ holds }) => holds.length > 0);
}

function ownGroup(text: string, mount: Mount): string | null {
  const lines = text.split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
  const line = lines.find((found) => {
    const names = found?.[1]?.split(',') ?? [];
    return mount.version === 2 ? found?.[1] === '' : mount.holds.some((name) => names.includes(name));
  });
  const path = line?.[2];
  if (path === undefined) return null;
  const inside = relative(mount.root, path);
  return inside.startsWith('..') ? null : join(mount.at, inside);
}

/** A group of the second version has processes or limited groups, never both: so the server moves into one beside. */
function canLimitBelow(own: string, wanted: string): boolean {
  try {
    if (existsSync(join(own, 'cgroup.type'))) {
      const beside = join(own, 'svc-server');
      mkdirSync(beside, { recursive: true });
      for (const pid of readOr(join(own, 'cgroup.procs')).split('\n').filter(Boolean))
        writeFileSync(join(beside, 'cgroup.procs'), pid);
    }
    writeFileSync(join(own, 'cgroup.subtree_control'), wanted);
    return true;
  } catch {
    // Read-only, or another's: without it.
    return false;
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
