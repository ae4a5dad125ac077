import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmdirSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { patientMs } from '../../../../../scripts/patience.ts';
import { type ControlGroup, findHierarchies, openControlGroups } from './control-groups.ts';

const limits = { cpu: 1, memoryMb: 64, diskMb: 64 };
const mib = 1024 ** 2;

/** What the kernel does with groups that the server may make here; what it does not let the server limit is skipped. */
export function controlGroupTests(use: 'auto' | 'own'): void {
  const found = findHierarchies(use, 'look');
  const holds = new Set(found.flatMap((hierarchy) => hierarchy.holds));
  const isUnified = found.every(({ version }) => version === 2);
  const open = (node: string = crypto.randomUUID()) => openControlGroups({ use, node });

  async function withGroup(
    changes: Partial<typeof limits>,
    act: (group: ControlGroup) => Promise<void>,
  ): Promise<void> {
    const node = crypto.randomUUID();
    const groups = open(node);
    const group = groups.make('one', { ...limits, ...changes });
    try {
      await act(group);
      expect(groups.find(node, 'one')?.folders).toEqual(group.folders);
    } finally {
      await endAll(group);
      await group.remove();
      await groups.removeNode(node);
    }
    expect(groups.find(node, 'one')).toBeNull();
    expect(group.folders.filter((folder) => existsSync(dirname(folder)))).toEqual([]);
  }

  describe(`control groups (SVC_CGROUP=${use})`, () => {
    test.if(holds.has('cpu'))('two busy processes get the CPU time of their group', async () => {
      await withGroup({ cpu: 0.2 }, async (group) => {
        expect(group.pids()).toEqual([]);
        const child = await runIn(group, 'while :; do :; done & echo ready; while :; do :; done');
        await until(() => (group.cpuMs() ?? 0) > 100);
        const [before, startedAt] = [group.cpuMs() ?? 0, performance.now()];
        await Bun.sleep(2_000);
        const share = ((group.cpuMs() ?? 0) - before) / (performance.now() - startedAt);
        expect(share).toBeGreaterThan(0.01);
        expect(share).toBeLessThan(0.2 * 1.4);
        expect(group.pids()).toContain(child.pid);
        expect(group.pids()).toHaveLength(2);
      });
    });

    test.if(holds.has('memory'))(
      'a group that takes too much memory is killed, and it is counted',
      async () => {
        await withGroup({}, async (group) => {
          await runIn(group, `x=$(head -c ${20 * mib} /dev/zero | tr '\\0' x); echo ready; sleep 1000`);
          expect(group.memoryBytes()).toBeGreaterThan(20 * mib);
          expect(group.memoryBytes()).toBeLessThan(64 * mib);
          expect(group.memoryKills()).toBe(0);
          const hungry = await runIn(group, 'echo ready; exec dd if=/dev/zero of=/dev/null bs=200M count=1');
          await hungry.exited;
          expect(hungry.signalCode).toBe('SIGKILL');
          expect(group.memoryKills()).toBeGreaterThan(0);
          // Version 1 kills one process.
          if (isUnified) await until(() => group.pids().length === 0);
          if (isUnified) expect(group.memoryKills()).toBeGreaterThanOrEqual(3);
        });
      },
    );

    test.if(holds.has('pids'))('a group has at most a process for each MiB of its memory', async () => {
      await withGroup({ cpu: 2, memoryMb: 1024 }, async (group) => {
        // Each waits for input that does not come.
        await runIn(group, 'echo ready; sleep 1000 | while :; do (read line <&3) & done 3<&0');
        await until(() => /^max [1-9]/m.test(readIn(group, 'pids.events')));
        expect(group.pids().length).toBeGreaterThan(1_000);
        expect(group.pids().length).toBeLessThanOrEqual(1_024);
      });
    });

    test.if(holds.has('cpu'))('abandoned groups are removed unless processes run in them', async () => {
      const before = new Date(Date.now() - 3_600_000);
      const makeOld = () => {
        const group = open().make('one', limits);
        for (const folder of group.folders) utimesSync(dirname(folder), before, before);
        return group;
      };
      const [idle, busy] = [makeOld(), makeOld()];
      const child = await runIn(busy, 'echo ready; exec sleep 1000');
      expect(busy.pids()).toEqual([child.pid]);
      open().removeAbandoned();
      expect(idle.folders.map((folder) => existsSync(dirname(folder)))).not.toContain(true);
      expect(busy.folders.map((folder) => existsSync(folder))).not.toContain(false);
      await endAll(busy);
      await busy.remove();
      for (const folder of busy.folders) rmdirSync(dirname(folder));
    });
  });
}

/** In the group; it writes a line when it is ready. */
async function runIn(group: ControlGroup, script: string) {
  const enter = `n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; n=$((n-1)); done
    ${script}`;
  const words = [String(group.folders.length), ...group.folders];
  const child = Bun.spawn(['/bin/sh', '-c', enter, 'sh', ...words], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('ready\n');
  return child;
}

async function endAll(group: ControlGroup): Promise<void> {
  await until(() => {
    for (const pid of group.pids()) tryKill(pid);
    return group.pids().length === 0;
  });
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readIn(group: ControlGroup, file: string): string {
  const paths = group.folders.map((folder) => join(folder, file));
  return paths.flatMap((path) => (existsSync(path) ? readFileSync(path, 'utf8') : [])).join('\n');
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + patientMs(20_000);
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('The condition was not met in time.');
    await Bun.sleep(20);
  }
}
