import { stageRelease } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { movedText } from '../../../../static/moved-text.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';

export default defineCommand({
  words: 'apps static releases stage',
  summary: 'Show a release at the staging host',
  description:
    'In place of what was staged before; a request to promote that one is closed. Owners, co-owners and tenant admins see the staging host.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: stageRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: movedText,
  examples: [
    {
      line: 'svc apps static releases stage --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute',
      does: 'Stage it',
    },
  ],
});
