import { setSite } from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../../app-flag.ts';
import { callText } from '../../../../call-text.ts';
import { defineCommand } from '../../../../define-command.ts';
import { bodyFlags } from '../../../../static/release-flags.ts';
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
  calls: callText(setSite),
  run: async (ctx, { flags }) => {
    const { setConfig } = await import('../../../../static/set-config.ts');
    return setConfig(ctx, flags);
  },
  output: async () => (await import('../../../../static/output-schemas.ts')).siteSetSchema(),
  examples: [
    {
      line: 'svc apps static site set --app pet-shop --body-json \'{"spa":true}\'',
      does: 'See what would change',
    },
    { line: 'svc apps static site set --app pet-shop --from-file site.yaml --execute', does: 'From a file' },
  ],
});
