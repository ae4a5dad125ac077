import { enableStaging } from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../../../app-flag.ts';
import { defineCommand } from '../../../../../define-command.ts';
import { siteView } from '../../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static site staging enable',
  summary: 'Give a site a staging host',
  description:
    'Owners, co-owners and tenant admins see there what is staged; it is never indexed by search engines.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: enableStaging,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  view: siteView,
  examples: [{ line: 'svc apps static site staging enable --app pet-shop --execute', does: 'Enable it' }],
});
