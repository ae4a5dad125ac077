import { setSite } from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../../app-flag.ts';
import { defineCommand } from '../../../../define-command.ts';
import { plain } from '../../../../output.ts';
import { bodyFlags } from '../../../../static/release-flags.ts';
import { siteView } from '../../../../static/release-views.ts';
import { serviceWorkersRetired, visibilityRetired } from '../../../../static/retired-note.ts';

export default defineCommand({
  words: 'apps static site set',
  summary: 'Replace the configuration of a site',
  description:
    'The object holds index, spa, not_found, clean_urls, trailing_slash, headers and redirects, as under site in ' +
    'svc.yaml, which is taken as a whole too; what it leaves out is as at first. What a release says itself wins. ' +
    'What is reviewed, or was requested to be, stays as it is: beyond the owners, it takes effect with the next release.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    ...bodyFlags,
    visibility: { type: 'string', retired: visibilityRetired, summary: 'Who sees the site' },
    'service-worker-allowed': {
      type: 'boolean',
      retired: serviceWorkersRetired,
      summary: 'Service workers may run',
    },
    'service-worker-disallowed': {
      type: 'boolean',
      retired: serviceWorkersRetired,
      summary: 'Service workers may not run',
    },
  },
  oneRequired: [['body-json', 'from-file']],
  endpoint: setSite,
  input: async ({ tenant, flags, ctx }) => {
    const { siteBody } = await import('../../../../static/site-body.ts');
    return { params: { tenantID: tenant, app: flags.app }, body: await siteBody(ctx, flags) };
  },
  present: (ctx, site) => {
    for (const notice of site.notices ?? []) ctx.note(plain(notice));
    return site;
  },
  view: siteView,
  examples: [
    {
      line: 'svc apps static site set --app pet-shop --body-json \'{"spa":true}\'',
      does: 'See what would change',
    },
    { line: 'svc apps static site set --app pet-shop --from-file site.yaml --execute', does: 'From a file' },
  ],
});
