import { getSite } from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../../app-flag.ts';
import { defineCommand } from '../../../../define-command.ts';
import { siteView } from '../../../../static/release-views.ts';
import { unpublishedNote } from '../../../../static/unpublished-note.ts';

export default defineCommand({
  words: 'apps static site get',
  summary: 'Show a site: what it shows, what is staged, how it is configured',
  kind: 'read',
  flags: appFlag,
  endpoint: getSite,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  present: (ctx, site, { flags }) => {
    unpublishedNote(ctx, site, flags.app);
    return site;
  },
  view: siteView,
  examples: [{ line: 'svc apps static site get --app pet-shop', does: 'Where it is, and what it shows' }],
});
