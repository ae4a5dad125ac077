import { disableStaging } from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../../../app-flag.ts';
import { defineCommand } from '../../../../../define-command.ts';
import { siteView } from '../../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static site staging disable',
  summary: 'Take the staging host of a site away',
  description: 'What is staged is staged no more, and a request to promote it is closed.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: disableStaging,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  view: siteView,
  examples: [{ line: 'svc apps static site staging disable --app pet-shop --execute', does: 'Disable it' }],
});
