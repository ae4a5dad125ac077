import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { scaleUnderLoad } from './suites/scale.ts';
import { nodeApp, staticSource } from './support/apps.ts';
import { svcAs } from './support/commands.ts';
import { newApp } from './support/people.ts';
import { folderOf } from './support/server.ts';
import { until } from './support/until.ts';
import { newWorld } from './support/world.ts';

scaleUnderLoad({ clients: 2, moves: ['scale'] });

describe('processes of an app', () => {
  const world = useFixture(newWorld);
  const svc = svcAs(() => [world.tenant, world.people.O]);
  const newAppOf = (deploy_method: 'docker' | 'static') =>
    newApp(world.tenant, { owner: world.people.O }, { deploy_method });

  test('are listed, scaled and have logs of their own', async () => {
    const { id } = await newAppOf('docker');
    const files = {
      ...nodeApp('one'),
      Procfile: 'worker: node -e "setInterval(() => console.log(\'at work\'), 100)"\n',
    };
    expect((await svc(['deploy', '--app', id, '--from-dir', folderOf(files), '--execute'])).code).toBe(0);
    const ps = await svc(['ps', '--app', id]);
    expect(ps.stdout).toMatch(/PROCESS +INDEX +STATE +SINCE +MEMORY/);
    expect(ps.stdout).toMatch(/web +1 +ready[\s\S]*worker +1 +ready/);
    const log = await until('the worker writes', async () => {
      const shown = await svc(['logs', '--app', id, '--process', 'worker', '--tail', '3']);
      return shown.stdout.includes('at work') && shown.stdout;
    });
    expect(log).toMatch(/^\S+Z #1 \[worker\] at work$/m);
    const preview = await svc(['apps', 'scale', id, 'worker=0']);
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining('worker')]);
    const scaled = await svc(['apps', 'scale', id, 'worker=0', '--execute', '--json']);
    expect(scaled.json()).toMatchObject({ items: [{ process: 'web' }, { process: 'worker', instances: 0 }] });
    await until(
      'the worker has ended',
      async () => !(await svc(['ps', '--app', id])).stdout.includes('worker'),
    );
    for (const [word, code] of [
      ['worker=11', 7],
      ['web=0', 7],
      ['nothing=1', 7],
      ['worker', 2],
    ] as const)
      expect([word, (await svc(['apps', 'scale', id, word, '--execute'])).code]).toEqual([word, code]);
  });

  test('of a site do not exist, and svc ps says so', async () => {
    const { id } = await newAppOf('static');
    const source = folderOf(staticSource());
    expect((await svc(['deploy', '--app', id, '--from-dir', source, '--execute'])).code).toBe(0);
    const ps = await svc(['ps', '--app', id]);
    expect([ps.code, ps.stdout, ps.stderr]).toEqual([
      0,
      '',
      'A site has no process: its files are served.\n',
    ]);
    const refused = await svc(['apps', 'scale', id, 'web=2', '--execute']);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('A site has no process')]);
  });
});
