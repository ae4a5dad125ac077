import { expect, spyOn, test } from 'bun:test';
import { existsSync, mkdirSync, rmdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../../database/testing.ts';
import { findHierarchies, openControlGroups } from './control-groups.ts';

const found = findHierarchies('auto', 'look').flatMap(({ holds }) => holds);

/** In a group, for a while; whatever it does is ended with it. */
async function busyIn(folders: readonly string[], forMs: number): Promise<void> {
  const enter = 'for f in "$@"; do echo $$ >"$f/cgroup.procs" || exit 1; done; while :; do :; done';
  const child = Bun.spawn(['/bin/sh', '-c', enter, 'busy', ...folders]);
  await Promise.race([child.exited, Bun.sleep(forMs)]);
  expect(child.exitCode).toBeNull();
  child.kill('SIGKILL');
  await child.exited;
}

test.if(found.includes('cpu'))('a control group limits CPU time and can be removed', async () => {
  const node = crypto.randomUUID();
  const groups = openControlGroups({ use: 'auto', node });
  const group = groups.make('one', { cpu: 0.2, memoryMb: 64, diskMb: 64 });
  expect(group.pids()).toEqual([]);
  const started = performance.now();
  await busyIn(group.folders, 1_000);
  expect(group.cpuMs()).toBeGreaterThan(20);
  expect(group.cpuMs()).toBeLessThan((performance.now() - started) * 0.45);
  expect(groups.find(node, 'one')?.folders).toEqual(group.folders);
  await group.remove();
  expect(groups.find(node, 'one')).toBeNull();
  await groups.removeNode(node);
  expect(group.folders.some((folder) => existsSync(`${folder}/..`))).toBe(false);
});

test.if(found.includes('cpu'))('abandoned groups are removed unless processes run in them', async () => {
  const before = new Date(Date.now() - 3_600_000);
  const makeOld = (name: string) => {
    const group = openControlGroups({ use: 'auto', node: crypto.randomUUID() }).make(name, {
      cpu: 1,
      memoryMb: 64,
      diskMb: 64,
    });
    for (const folder of group.folders) utimesSync(dirname(folder), before, before);
    return group;
  };
  const [idle, busy] = [makeOld('one'), makeOld('two')];
  const child = Bun.spawn([
    '/bin/sh',
    '-c',
    'for f in "$@"; do echo $$ >"$f/cgroup.procs"; done; echo in; sleep 100',
    'in',
    ...busy.folders,
  ]);
  await child.stdout.getReader().read();
  openControlGroups({ use: 'auto', node: crypto.randomUUID() }).removeAbandoned();
  expect(idle.folders.map((folder) => existsSync(dirname(folder)))).not.toContain(true);
  expect(busy.folders.map((folder) => existsSync(folder))).not.toContain(false);
  for (const pid of busy.pids()) process.kill(pid, 'SIGKILL');
  await child.exited;
  await busy.remove();
  for (const folder of busy.folders) rmdirSync(dirname(folder));
});

test('with SVC_CGROUP=own an ordinary user manages the group that systemd gave it', async () => {
  const folder = temporaryFolder();
  const at = join(folder.path, 'groups');
  const own = join(at, 'system.slice', 'svc.service');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(at, 'cgroup.controllers'), 'cpuset cpu memory pids\n');
  const options = '25 1 0:22 / PATH rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n';
  writeFileSync(join(folder.path, 'mountinfo'), options.replace('PATH', at));
  const user = spyOn(process, 'getuid').mockReturnValue(64_325);
  try {
    // The agent moves to the group inside, where it starts again.
    for (const inside of ['', '/svc-server']) {
      writeFileSync(join(folder.path, 'cgroup'), `0::/system.slice/svc.service${inside}\n`);
      expect(findHierarchies('auto', 'look', folder.path)).toEqual([]);
      expect(findHierarchies('own', 'look', folder.path)).toMatchObject([
        { version: 2, own, holds: ['memory', 'cpu', 'pids'] },
      ]);
    }
  } finally {
    user.mockRestore();
    await folder.remove();
  }
});

test('without control groups nothing is limited or created', () => {
  const groups = openControlGroups({ use: 'none', node: crypto.randomUUID() });
  expect([groups.holds.size, groups.find('any', 'one')]).toEqual([0, null]);
  expect(groups.make('one', { cpu: 1, memoryMb: 64, diskMb: 64 }).folders).toEqual([]);
});
