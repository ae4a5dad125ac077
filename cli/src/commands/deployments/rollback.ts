import { rollbackDeployment } from '@svc/contract/deployments.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { deploymentPositional } from '../../deploy/deployment-positional.ts';

export default defineCommand({
  words: 'deployments rollback',
  summary: 'Deploy again what an earlier deployment made, with the environment it had',
  description:
    'Nothing is built anew. It is waited for as svc deploy does, with the same exit codes: 9 where it failed, 11 where a ' +
    'review is needed first, 10 where --timeout runs out.',
  kind: 'mutate',
  timeoutDefault: '20m',
  positionals: [deploymentPositional],
  flags: { ...appFlag, detach: { type: 'boolean', summary: 'Do not wait until it has ended' } },
  calls: `${rollbackDeployment.method} ${rollbackDeployment.path}`,
  run: async (ctx, { positionals, flags }) => {
    const { rollBack } = await import('../../deploy/roll-back.ts');
    const until = flags.detach ? 'begun' : 'ended';
    return rollBack(ctx, { app: flags.app, deployment: positionals['deployment-id'], until });
  },
  output: async () => {
    const { Deployment } = await import('@svc/contract/deployments.shapes.ts');
    return Deployment.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  },
  examples: [
    {
      line: 'svc deployments rollback 01977777-7777-7777-8777-777777777777 --app pet-shop --execute',
      does: 'Go back to it',
    },
  ],
});
