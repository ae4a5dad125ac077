import { requestPromotion } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';
import { promotionView } from '../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static releases promote-request',
  summary: 'Ask for a review of the staged release',
  description:
    'A tenant admin looks at the staging host, then approves or rejects it. One request at a time. From now on the ' +
    'release keeps the configuration that it is served with.',
  kind: 'mutate',
  flags: { ...releaseFlags, note: { type: 'string', summary: 'What is new, for whoever reviews it' } },
  endpoint: requestPromotion,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    body: { note: flags.note },
  }),
  view: promotionView,
  settle: async (ctx, made, input) => {
    const { requestedNote } = await import('../../../../static/promotion-notes.ts');
    return requestedNote(ctx, made, input);
  },
  examples: [
    {
      line: "svc apps static releases promote-request --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --note 'new prices' --execute",
      does: 'Ask for it',
    },
  ],
});
