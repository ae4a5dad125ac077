import { cancelDeployment } from '@svc/contract/deployments.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { deploymentPositional } from '../../deploy/deployment-positional.ts';
import { deploymentView } from '../../views/deployment.ts';

export default defineCommand({
  words: 'deployments cancel',
  summary: 'Stop a deployment that waits or is being built',
  description:
    'One that is being released can not be stopped any more; what was live before stays so until it is.',
  kind: 'mutate',
  positionals: [deploymentPositional],
  flags: appFlag,
  endpoint: cancelDeployment,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, deployment: positionals['deployment-id'] },
  }),
  view: deploymentView,
  examples: [
    {
      line: 'svc deployments cancel 01977777-7777-7777-8777-777777777777 --app pet-shop --execute',
      does: 'Stop it',
    },
  ],
});
