import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const controllers = ['memory', 'cpu', 'cpuacct', 'pids'] as const;
export type Controller = (typeof controllers)[number];

export interface Hierarchy {
  version: 1 | 2;
  holds: readonly Controller[];
  own: string;
  passDown(folder: string): void;
}

interface Mount {
  version: 1 | 2;
  at: string;
  root: string;
  holds: Controller[];
}

/**
 * `auto` uses only hierarchies where the server's group is the visible root, as in a container: other groups
 * are managed by systemd or others. `own`: the operator lets the server manage its group.
 */
export function findHierarchies(use: 'auto' | 'own', mode: 'take' | 'look'): Hierarchy[] {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return [];
  const text = readText('/proc/self/cgroup');
  const used = new Set<Controller>();
  return listMounts().flatMap((mount) => {
    const own = ownGroup(text, mount);
    if (own === null || (use === 'auto' && own !== mount.at)) return [];
    const holds = mount.holds.filter((name) => !used.has(name));
    if (holds.length === 0) return [];
    const requested = holds.map((name) => `+${name}`).join(' ');
    if (!isWritable(own)) return [];
    if (mount.version === 2 && mode === 'take' && !canLimitBelow(own, requested)) return [];
    for (const name of holds) used.add(name);
    const passDown = (folder: string) => {
      if (mount.version === 2) writeFileSync(join(folder, 'cgroup.subtree_control'), requested);
    };
    return [{ version: mount.version, holds, own, passDown }];
  });
}

function listMounts(): Mount[] {
  return readText('/proc/self/mountinfo')
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
      const names = readText(join(at, 'cgroup.controllers')).trim().split(' ');
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

/** In cgroup v2 a group has either processes or limited subgroups, so the server moves into a subgroup. */
function canLimitBelow(own: string, requested: string): boolean {
  try {
    if (existsSync(join(own, 'cgroup.type'))) {
      const serverGroup = join(own, 'svc-server');
      mkdirSync(serverGroup, { recursive: true });
      for (const pid of readText(join(own, 'cgroup.procs')).split('\n').filter(Boolean))
        writeFileSync(join(serverGroup, 'cgroup.procs'), pid);
    }
    writeFileSync(join(own, 'cgroup.subtree_control'), requested);
    return true;
  } catch {
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

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
