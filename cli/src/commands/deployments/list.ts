import { deploymentStates, listDeployments } from '@svc/contract/deployments.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { deploymentView } from '../../views/deployment.ts';

export default defineCommand({
  words: 'deployments list',
  summary: 'List the deployments of an app, the newest first',
  kind: 'read',
  flags: {
    ...appFlag,
    state: { type: 'enum', values: deploymentStates, summary: 'Only those in this state' },
    ...pageFlags,
  },
  endpoint: listDeployments,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    query: { state: flags.state, page: flags.page, per_page: flags['per-page'] },
  }),
  view: deploymentView,
  examples: [
    { line: 'svc deployments list --app pet-shop', does: 'What was deployed, and how it went' },
    { line: 'svc deployments list --app pet-shop --state failed', does: 'What went wrong' },
  ],
});
