import { approvePromotion } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { movedText } from '../../../../static/moved-text.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';

export default defineCommand({
  words: 'apps static releases promote-approve',
  summary: 'Approve what was reviewed, and show it to visitors',
  description:
    'For tenant admins, and never for who asked, unless they are the only admin there is. What is approved is what was staged when it was asked for: ' +
    'its files and its configuration stay as they are from then on. The preview says where to look at it.',
  kind: 'mutate',
  flags: {
    ...releaseFlags,
    note: { type: 'string', summary: 'What you have looked at' },
    digest: {
      type: 'string',
      placeholder: 'sum',
      summary: 'Digest of what you have looked at; anything else is refused',
    },
  },
  endpoint: approvePromotion,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    body: { note: flags.note, digest: flags.digest },
  }),
  text: movedText,
  settle: async (ctx, made, input) => {
    const { reviewNote } = await import('../../../../static/promotion-notes.ts');
    return reviewNote(ctx, made, input);
  },
  examples: [
    {
      line: "svc apps static releases promote-approve --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --note 'looks right' --execute",
      does: 'Approve it',
    },
  ],
});
