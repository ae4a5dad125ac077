import { expect, spyOn, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../database/testing.ts';
import { findHierarchies, openControlGroups } from './control-groups.ts';
import { controlGroupTests } from './control-groups-testing.ts';

controlGroupTests('auto');

/** As the kernel shows it to a process; `root` is the group at the mount point. */
function unifiedHierarchy(root: string) {
  const folder = temporaryFolder();
  const at = join(folder.path, 'groups');
  const own = join(at, 'system.slice', 'svc.service');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(at, 'cgroup.controllers'), 'cpuset cpu memory pids\n');
  const mount = `25 1 0:22 ${root} ${at} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`;
  writeFileSync(join(folder.path, 'mountinfo'), mount);
  return {
    at,
    own,
    look(use: 'auto' | 'own', group: string) {
      writeFileSync(join(folder.path, 'cgroup'), `0::${group}\n`);
      return findHierarchies(use, 'look', folder.path);
    },
    remove: folder.remove,
  };
}

test('with SVC_CGROUP=own an ordinary user manages the group that systemd gave it', async () => {
  const { look, own, remove } = unifiedHierarchy('/');
  const user = spyOn(process, 'getuid').mockReturnValue(64_325);
  try {
    // The agent moves to the group inside, where it starts again.
    for (const inside of ['', '/svc-server']) {
      const group = `/system.slice/svc.service${inside}`;
      expect(look('auto', group)).toEqual([]);
      expect(look('own', group)).toMatchObject([{ version: 2, own, holds: ['memory', 'cpu', 'pids'] }]);
    }
  } finally {
    user.mockRestore();
    await remove();
  }
});

test.if(process.getuid?.() === 0)(
  'groups above the namespace of the server are those of others, also where they are visible',
  async () => {
    for (const [root, count] of [
      ['/', 1],
      ['/..', 0],
      ['/../..', 0],
    ] as const) {
      const { look, remove } = unifiedHierarchy(root);
      expect([root, look('auto', '/').length, look('own', '/').length]).toEqual([root, count, count]);
      await remove();
    }
  },
);

test('without control groups nothing is limited or created', () => {
  const groups = openControlGroups({ use: 'none', node: crypto.randomUUID() });
  expect([groups.holds.size, groups.find('any', 'one')]).toEqual([0, null]);
  expect(groups.make('one', { cpu: 1, memoryMb: 64, diskMb: 64 }).folders).toEqual([]);
});
