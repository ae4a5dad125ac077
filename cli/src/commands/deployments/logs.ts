import { readBuildLog } from '@svc/contract/deployments.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { deploymentPositional } from '../../deploy/deployment-positional.ts';
import { logFlags } from '../../deploy/log-flags.ts';

export default defineCommand({
  words: 'deployments logs',
  summary: 'What a deployment said while it was built and released',
  description:
    'With --follow it ends with the deployment, or at Ctrl-C (exit 130), which stops nothing at the server.',
  kind: 'read',
  timeoutDefault: '24h',
  calls: `${readBuildLog.method} ${readBuildLog.path}`,
  positionals: [deploymentPositional],
  flags: { ...appFlag, ...logFlags },
  run: async (ctx, { positionals, flags }) => {
    const [{ followLog, showLog }, { resolveTenant }] = await Promise.all([
      import('../../deploy/show-log.ts'),
      import('../../tenant.ts'),
    ]);
    const place = {
      ...{ log: 'build' as const, tenantID: await resolveTenant(ctx), app: flags.app },
      deployment: positionals['deployment-id'],
    };
    return flags.follow ? followLog(ctx, place, flags.tail) : showLog(ctx, place, flags.tail);
  },
  output: async () => (await import('../../deploy/log-schema.ts')).logSchema(),
  examples: [
    {
      line: 'svc deployments logs 01977777-7777-7777-8777-777777777777 --app pet-shop',
      does: 'All of it',
    },
    {
      line: 'svc deployments logs 01977777-7777-7777-8777-777777777777 --app pet-shop --tail 50',
      does: 'How it ended',
    },
  ],
});
