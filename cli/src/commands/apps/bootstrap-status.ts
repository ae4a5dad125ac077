import { getBootstrap } from '@svc/contract/bootstrap.ts';
import { watchFlags, watchOf } from '../../bootstrap/watch-flags.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps bootstrap-status',
  summary: 'How far a bootstrap or a fork has come',
  description:
    'With --watch its steps are shown until it has ended; then it exits with 9 where the run failed or was canceled, and with ' +
    '10 where --watch-timeout runs out, which stops nothing at the server.',
  kind: 'read',
  timeoutDefault: '24h',
  calls: `${getBootstrap.method} ${getBootstrap.path}`,
  positionals: [{ name: 'bootstrap', summary: 'Id of the run, as svc apps bootstrap prints it' }],
  flags: watchFlags,
  run: async (ctx, { positionals, flags }) => {
    const [{ readRun, watchRun }, { resolveTenant }, { bootstrapView }] = await Promise.all([
      import('../../bootstrap/watch-run.ts'),
      import('../../tenant.ts'),
      import('../../views/bootstrap.ts'),
    ]);
    const tenantID = await resolveTenant(ctx);
    const run = await readRun(ctx, { tenantID, run: positionals.bootstrap });
    const watch = watchOf(flags);
    return watch === null ? { value: run, view: bootstrapView } : watchRun(ctx, { tenantID, run, watch });
  },
  output: async () => {
    const { BootstrapRun } = await import('@svc/contract/bootstrap.shapes.ts');
    return BootstrapRun.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  },
  examples: [
    {
      line: 'svc apps bootstrap-status 01977777-7777-7777-8777-777777777777',
      does: 'How it stands',
    },
    {
      line: 'svc apps bootstrap-status 01977777-7777-7777-8777-777777777777 --watch --watch-timeout 10m',
      does: 'Look on until it has ended',
    },
  ],
});
