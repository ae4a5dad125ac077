import { rejectPromotion } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';
import { promotionView } from '../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static releases promote-reject',
  summary: 'Refuse to promote a release; it stays staged',
  description: 'For tenant admins and other owners than who asked.',
  kind: 'mutate',
  flags: { ...releaseFlags, reason: { type: 'string', summary: 'Why not' } },
  endpoint: rejectPromotion,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    body: { reason: flags.reason },
  }),
  view: promotionView,
  examples: [
    {
      line: "svc apps static releases promote-reject --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --reason 'the prices are wrong' --execute",
      does: 'Say no, and why',
    },
  ],
});
