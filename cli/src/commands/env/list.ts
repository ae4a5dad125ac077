import { listEnv } from '@svc/contract/deployments.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { envView } from '../../views/env.ts';

export default defineCommand({
  words: 'env list',
  summary: 'List the variables that an app runs with, by name; values are never shown',
  kind: 'read',
  flags: appFlag,
  endpoint: listEnv,
  pages: 'all',
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app }, query: {} }),
  view: envView,
  examples: [{ line: 'svc env list --app pet-shop', does: 'Who gives which' }],
});
