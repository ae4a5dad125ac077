import { expect, test } from 'bun:test';
import { runLogLinesMax } from '@svc/contract/runs.ts';
import { nodeApp } from './support/apps.ts';
import { svcFor } from './support/commands.ts';
import { newApp } from './support/people.ts';
import { folderOf } from './support/server.ts';
import { newWorld } from './support/world.ts';

test('the output of svc run is whole up to its limit; a warning says how much is missing after it', async () => {
  const world = await newWorld();
  const { server, slug } = world.tenant;
  const svc = svcFor(server, { token: world.people.O.token, tenant: slug });
  const app = await newApp(world.tenant, { owner: world.people.O }, { deploy_method: 'docker' });
  const folder = folderOf(nodeApp('one'));
  expect((await svc(['deploy', '--app', app.id, '--from-dir', folder, '--execute'])).code).toBe(0);
  const seq = async (count: number) => svc(['run', '--json', '--app', app.id, '--', `seq ${count}; exit 3`]);
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => `${at + 1}\n`).join('');
  const whole = await seq(runLogLinesMax - 1);
  expect(whole.code).toBe(3);
  expect(whole.stderr === numbers(runLogLinesMax - 1)).toBe(true);
  const cut = await seq(runLogLinesMax + 100);
  expect(cut.stderr.startsWith(`${numbers(runLogLinesMax - 1)}The log ends here`)).toBe(true);
  expect([cut.code, cut.json()]).toMatchObject([
    3,
    { lines_missing: 101, warnings: [expect.stringContaining('101 lines of the output are missing')] },
  ]);
});
