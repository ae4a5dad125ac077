import { approvePromotion } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { movedText } from '../../../../static/moved-text.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';

export default defineCommand({
  words: 'apps static releases promote-approve',
  summary: 'Approve what was reviewed, and show it to visitors',
  description:
    'For tenant admins, and for somebody else than who asked. What is approved is what was staged when it was asked for: a change since then asks for a new request.',
  kind: 'mutate',
  flags: { ...releaseFlags, note: { type: 'string', summary: 'What you have looked at' } },
  endpoint: approvePromotion,
  input: ({ tenant, flags }) => ({
    params: releaseParams(tenant, flags),
    body: { note: flags.note },
  }),
  text: movedText,
  examples: [
    {
      line: "svc apps static releases promote-approve --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --note 'looks right' --execute",
      does: 'Approve it',
    },
  ],
});
