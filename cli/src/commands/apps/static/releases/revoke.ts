import { revokeRelease } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { movedText } from '../../../../static/moved-text.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';

export default defineCommand({
  words: 'apps static releases revoke',
  summary: 'Make sure that a release is never shown again',
  description:
    'It is staged no more, and a request to promote it is closed. A draft is given up. The one that visitors see can not ' +
    'be revoked.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: revokeRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: movedText,
  examples: [
    {
      line: 'svc apps static releases revoke --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute',
      does: 'Revoke it',
    },
  ],
});
