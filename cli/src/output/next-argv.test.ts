import { expect, test } from 'bun:test';
import { nextCommand } from './next-argv.ts';

test.each([
  ['Run svc login.', ['svc', 'login']],
  ['Run svc login --profile nope.', ['svc', 'login', '--profile', 'nope']],
  ['svc grants list shows the grants; revoke those that use the preset first.', ['svc', 'grants', 'list']],
  ['svc apps resume shop --execute runs it again.', ['svc', 'apps', 'resume', 'shop', '--execute']],
  ["svc review history --app 'a b' shows it.", ['svc', 'review', 'history', '--app', 'a b']],
  ['See svc apps list --help.', ['svc', 'apps', 'list', '--help']],
  ['See svc --help.', ['svc', '--help']],
  ['svc apps get <app> shows the visibility; svc whoami shows your role.', ['svc', 'whoami']],
  ['Choose another slug; svc apps check-availability --slug <slug> suggests some.', []],
  ['svc apps update --visibility narrows it.', []],
  ['Try again in a moment.', []],
  ['Check that svc and the server have the same version.', []],
])('%s', async (advice, argv) => {
  expect(await nextCommand(advice)).toEqual({ argv, why: advice });
});

test('the app of the failed command is added where the advice does not name it', async () => {
  const advice = 'Next: svc deploy --execute.';
  expect((await nextCommand(advice)).argv).toEqual([]);
  expect((await nextCommand(advice, { app: 'shop' })).argv).toEqual([
    'svc',
    'deploy',
    '--execute',
    '--app',
    'shop',
  ]);
  const missing = 'svc apps storage rm, or nothing.';
  expect((await nextCommand(missing, { app: 'shop' })).argv).toEqual([]);
});
