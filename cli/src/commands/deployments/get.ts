import { getDeployment } from '@svc/contract/deployments.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { deploymentPositional } from '../../deploy/deployment-positional.ts';
import { deploymentView } from '../../views/deployment.ts';

export default defineCommand({
  words: 'deployments get',
  summary: 'Show a deployment: how far it is, or how it ended',
  kind: 'read',
  positionals: [deploymentPositional],
  flags: appFlag,
  endpoint: getDeployment,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, deployment: positionals['deployment-id'] },
  }),
  view: deploymentView,
  examples: [
    {
      line: 'svc deployments get 01977777-7777-7777-8777-777777777777 --app pet-shop',
      does: 'How it stands',
    },
  ],
});
