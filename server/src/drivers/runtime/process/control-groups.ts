import { constants, existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { isAccessible, tryReadText } from '../../os/files.ts';
import { type Limits, processLimit } from '../runtime.ts';

export type ControlGroupsUse = 'auto' | 'own' | 'none';

export interface ControlGroups {
  holds: ReadonlySet<Controller>;
  make(name: string, limits: Limits): ControlGroup;
  find(node: string, name: string): ControlGroup | null;
  removeNode(node: string): Promise<void>;
  removeAbandoned(): void;
}

export interface ControlGroup {
  folders: readonly string[];
  pids(): number[];
  cpuMs(): number | null;
  memoryBytes(): number | null;
  memoryKills(): number;
  remove(): Promise<void>;
}

const periodMicros = 100_000;
const abandonedMsMin = 120_000;

export function openControlGroups(options: { use: ControlGroupsUse; node: string }): ControlGroups {
  const hierarchies = options.use === 'none' ? [] : findHierarchies(options.use, 'take');
  const nodeFolder = (hierarchy: Hierarchy, node: string) => join(hierarchy.own, `svc-${node}`);
  const at = (node: string, name: string) => (hierarchy: Hierarchy) =>
    join(nodeFolder(hierarchy, node), name);
  return {
    holds: new Set(hierarchies.flatMap(({ holds }) => holds)),
    make(name, limits) {
      const folderOf = at(options.node, name);
      for (const hierarchy of hierarchies) {
        mkdirSync(nodeFolder(hierarchy, options.node), { recursive: true });
        hierarchy.passDown(nodeFolder(hierarchy, options.node));
        mkdirSync(folderOf(hierarchy), { recursive: true });
        for (const [file, value] of limitSettings(hierarchy, limits))
          write(join(folderOf(hierarchy), file), value);
      }
      return createControlGroup(hierarchies, folderOf);
    },
    find(node, name) {
      const folderOf = at(node, name);
      return hierarchies.some((it) => existsSync(folderOf(it)))
        ? createControlGroup(hierarchies, folderOf)
        : null;
    },
    async removeNode(node) {
      for (const hierarchy of hierarchies) await removeFolder(nodeFolder(hierarchy, node));
    },
    removeAbandoned() {
      for (const { own } of hierarchies) {
        const nodes = listFolders(own).filter((name) => /^svc-[0-9a-f-]{36}$/.test(name));
        for (const node of nodes.map((name) => join(own, name))) {
          const found = statSync(node, { throwIfNoEntry: false });
          if (!found || Date.now() - found.mtimeMs < abandonedMsMin) continue;
          for (const name of listFolders(node)) tryRemove(join(node, name));
          tryRemove(node);
        }
      }
    },
  };
}

function limitSettings({ version, holds }: Hierarchy, limits: Limits): [string, string][] {
  const { cpu, memoryMb } = limits;
  const bytes = String(memoryMb * 1024 * 1024);
  const quota = String(Math.max(1_000, Math.round(cpu * periodMicros)));
  const settings: Record<Controller, [string, string][]> =
    version === 2
      ? {
          memory: [
            ['memory.max', bytes],
            ['memory.swap.max', '0'],
            ['memory.oom.group', '1'],
          ],
          cpu: [['cpu.max', `${quota} ${periodMicros}`]],
          cpuacct: [],
          pids: [['pids.max', String(processLimit(limits))]],
        }
      : {
          memory: [
            ['memory.limit_in_bytes', bytes],
            ['memory.memsw.limit_in_bytes', bytes],
          ],
          cpu: [
            ['cpu.cfs_period_us', String(periodMicros)],
            ['cpu.cfs_quota_us', quota],
          ],
          cpuacct: [],
          pids: [['pids.max', String(processLimit(limits))]],
        };
  return controllers.filter((name) => holds.includes(name)).flatMap((name) => settings[name]);
}

function createControlGroup(
  hierarchies: readonly Hierarchy[],
  folderOf: (hierarchy: Hierarchy) => string,
): ControlGroup {
  const folders = hierarchies.map(folderOf);
  const numberAt = (controller: Controller, version: 1 | 2, file: string, pattern = /^(\d+)/) => {
    const found = hierarchies.find((it) => it.version === version && it.holds.includes(controller));
    const text = found && tryReadText(join(folderOf(found), file));
    const digits = text ? pattern.exec(text)?.[1] : undefined;
    return digits === undefined ? null : Number(digits);
  };
  return {
    folders,
    pids: () => [
      ...new Set(
        folders
          .flatMap((folder) => readText(join(folder, 'cgroup.procs')).split('\n'))
          .map(Number)
          .filter((pid) => pid > 0),
      ),
    ],
    cpuMs() {
      const nanos = numberAt('cpuacct', 1, 'cpuacct.usage');
      if (nanos !== null) return nanos / 1e6;
      const micros = numberAt('cpu', 2, 'cpu.stat', /^usage_usec (\d+)/m);
      return micros === null ? null : micros / 1e3;
    },
    memoryBytes: () =>
      numberAt('memory', 1, 'memory.usage_in_bytes') ?? numberAt('memory', 2, 'memory.current'),
    memoryKills: () =>
      numberAt('memory', 1, 'memory.oom_control', /^oom_kill (\d+)/m) ??
      numberAt('memory', 2, 'memory.events', /^oom_kill (\d+)/m) ??
      0,
    async remove() {
      for (const folder of folders) await removeFolder(folder);
    },
  };
}

/** Empty if another server has removed it meanwhile. */
function listFolders(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A group with processes or subgroups cannot be removed, which means it is in use. */
function tryRemove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'EBUSY' && code !== 'ENOENT' && code !== 'ENOTEMPTY') throw error;
  }
}

/** Retries, because a group stays busy for a moment after its last process has ended. */
async function removeFolder(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      rmdirSync(folder);
      return;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY') throw error;
    }
    await Bun.sleep(10);
  }
}

function write(path: string, value: string): void {
  try {
    writeFileSync(path, value);
  } catch (error) {
    if (!/swap|memsw|oom\.group/.test(path)) throw error;
  }
}

const controllers = ['memory', 'cpu', 'cpuacct', 'pids'] as const;
export type Controller = (typeof controllers)[number];

interface Hierarchy {
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
 * are managed by systemd or others. `own`: the operator lets the server manage its group, which systemd gives to an ordinary
 * user too (`Delegate=yes`, cgroup v2).
 */
export function findHierarchies(
  use: 'auto' | 'own',
  mode: 'take' | 'look',
  processFolder = '/proc/self',
): Hierarchy[] {
  if (process.platform !== 'linux' || (use === 'auto' && process.getuid?.() !== 0)) return [];
  const text = readText(join(processFolder, 'cgroup'));
  const used = new Set<Controller>();
  return listMounts(join(processFolder, 'mountinfo')).flatMap((mount) => {
    const own = ownGroup(text, mount);
    if (own === null || (use === 'auto' && own !== mount.at)) return [];
    const holds = mount.holds.filter((name) => !used.has(name));
    if (holds.length === 0) return [];
    const requested = holds.map((name) => `+${name}`).join(' ');
    if (!isAccessible(own, constants.W_OK)) return [];
    if (mount.version === 2 && mode === 'take' && !canLimitBelow(own, requested)) return [];
    for (const name of holds) used.add(name);
    const passDown = (folder: string) => {
      if (mount.version === 2) writeFileSync(join(folder, 'cgroup.subtree_control'), requested);
    };
    return [{ version: mount.version, holds, own, passDown }];
  });
}

function listMounts(mountinfo: string): Mount[] {
  return readText(mountinfo)
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
  if (path === undefined || isAboveNamespace(path) || isAboveNamespace(mount.root)) return null;
  const inside = relative(mount.root, path);
  if (inside.startsWith('..')) return null;
  const own = join(mount.at, inside);
  return basename(own) === serverGroupName ? dirname(own) : own;
}

/** `relative` would take `/..` for `/`. */
const isAboveNamespace = (path: string) => /^\/\.\.(\/|$)/.test(path);

const serverGroupName = 'svc-server';
const moveAttemptsMax = 10;

/** In cgroup v2 a group has either processes or limited subgroups, so the server moves into a subgroup. */
function canLimitBelow(own: string, requested: string): boolean {
  try {
    if (existsSync(join(own, 'cgroup.type'))) {
      const serverGroup = join(own, serverGroupName);
      mkdirSync(serverGroup, { recursive: true });
      // Processes may start and end meanwhile.
      for (let attempt = 0; attempt < moveAttemptsMax; attempt++)
        for (const pid of readText(join(own, 'cgroup.procs')).split('\n').filter(Boolean))
          writeUnlessGone(join(serverGroup, 'cgroup.procs'), pid);
    }
    writeFileSync(join(own, 'cgroup.subtree_control'), requested);
    return true;
  } catch {
    return false;
  }
}

function writeUnlessGone(path: string, pid: string): void {
  try {
    writeFileSync(path, pid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readText(path: string): string {
  return tryReadText(path) ?? '';
}
