import { listReleases } from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../../app-flag.ts';
import { defineCommand } from '../../../../define-command.ts';
import { pageFlags } from '../../../../page-flags.ts';
import { releaseView } from '../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static releases list',
  summary: 'List the releases of a site, the newest first',
  description:
    'Its roles say what a release is to the site: staged, promote_requested, active, or superseded: it was active once ' +
    'and can be rolled back to.',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listReleases,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: releaseView,
  examples: [{ line: 'svc apps static releases list --app pet-shop', does: 'All of a site' }],
});
