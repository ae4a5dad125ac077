import { activateRelease } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { movedText } from '../../../../static/moved-text.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';

export default defineCommand({
  words: 'apps static releases activate',
  summary: 'Show a release to visitors',
  description:
    'Once the app is visible beyond its owners, only a release that was reviewed: stage it and have it promoted. A site that was unpublished is shown again with it.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: activateRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: movedText,
  examples: [
    {
      line: 'svc apps static releases activate --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute',
      does: 'Activate it',
    },
  ],
});
