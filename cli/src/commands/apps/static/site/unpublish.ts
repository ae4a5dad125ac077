import { unpublishSite } from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../../app-flag.ts';
import { defineCommand } from '../../../../define-command.ts';
import { siteView } from '../../../../static/release-views.ts';
import { unpublishedNote } from '../../../../static/unpublished-note.ts';

export default defineCommand({
  words: 'apps static site unpublish',
  summary: 'Stop serving a site',
  description:
    'At once, for everybody. The visibility of the app stays as it is: svc apps static releases activate with the same ' +
    'release shows it again to the same people.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: unpublishSite,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  present: (ctx, site, { flags }) => {
    unpublishedNote(ctx, site, flags.app);
    return site;
  },
  view: siteView,
  examples: [{ line: 'svc apps static site unpublish --app pet-shop --execute', does: 'Stop serving' }],
});
