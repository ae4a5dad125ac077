import { rollbackRelease } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { movedText } from '../../../../static/moved-text.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';

export default defineCommand({
  words: 'apps static releases rollback',
  summary: 'Show a release again that visitors saw before',
  description: 'The ten newest releases that play no part are kept for it.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: rollbackRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: movedText,
  examples: [
    {
      line: 'svc apps static releases rollback --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute',
      does: 'Go back to it',
    },
  ],
});
