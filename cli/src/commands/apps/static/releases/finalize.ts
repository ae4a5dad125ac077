import { finalizeRelease } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { movedText } from '../../../../static/moved-text.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';

export default defineCommand({
  words: 'apps static releases finalize',
  summary: 'End the upload of a release; from now on it never changes',
  description:
    'All its files must have arrived. A release that was made to be deployed is shown or staged with that.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: finalizeRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: movedText,
  examples: [
    {
      line: 'svc apps static releases finalize --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute',
      does: 'End the upload',
    },
  ],
});
