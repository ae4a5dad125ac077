import { getRelease } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';
import { releaseView } from '../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static releases get',
  summary: 'Show one release of a site',
  kind: 'read',
  flags: releaseFlags,
  endpoint: getRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  view: releaseView,
  examples: [
    {
      line: 'svc apps static releases get --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop',
      does: 'What it holds, and what became of it',
    },
  ],
});
