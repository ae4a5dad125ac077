import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { limitTests } from '../limits-testing.ts';
import { type Bench, openBench, type SampleInstance } from '../testing.ts';
import { findHierarchies } from './control-groups.ts';
import { controlGroupTests } from './control-groups-testing.ts';
import { type ProcessWorld, processWorld } from './testing.ts';

// Runs in the machine of `control-groups-v2.proof.ts`.
const use = process.env.SVC_TEST_CGROUP === 'own' ? 'own' : 'auto';
const parts = process.env.SVC_TEST_PARTS?.split(' ') ?? [];

test('the groups are of version 2, and limit memory, CPU and processes', () => {
  const found = findHierarchies(use, 'look');
  expect(found).toMatchObject([{ version: 2, holds: ['memory', 'cpu', 'pids'] }]);
});

if (parts.includes('groups')) controlGroupTests(use);

test('a server below the root of all groups is in a group of its own', async () => {
  const [own = ''] = findHierarchies(use, 'look').map((hierarchy) => hierarchy.own);
  const isRootOfAll = !existsSync(join(own, 'cgroup.type'));
  const [, group = ''] = /^0::(.*)$/m.exec(await Bun.file('/proc/self/cgroup').text()) ?? [];
  expect(basename(group)).toBe(isRootOfAll ? '' : 'svc-server');
  if (!isRootOfAll) expect(await Bun.file(join(own, 'cgroup.procs')).text()).toBe('');
});

if (parts.includes('apps')) describe('apps as processes', appTests);

function appTests(): void {
  let world: ProcessWorld;
  let bench: Bench;
  let running: SampleInstance;
  beforeAll(async () => {
    world = processWorld({ controlGroups: use });
    bench = openBench(world, await world.open());
    running = await bench.app('web').run();
  });
  afterAll(async () => {
    await running?.stop();
    await bench?.runtime.close();
    await world?.close();
  });

  test('have the limits of control groups', async () => {
    expect(await bench.runtime.check()).toMatchObject({
      ok: true,
      detail: expect.stringContaining(
        'memory by control groups, CPU by control groups, processes by control groups',
      ),
    });
  });

  // An emulated processor would start nothing in a twentieth of its time.
  limitTests(() => ({ bench, running }), { cores: 0.3 });
}
