import { listReleaseFiles } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { pageFlags } from '../../../../page-flags.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';
import { releaseFileView } from '../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static releases files',
  summary: 'List the files of a release by path',
  kind: 'read',
  flags: { ...releaseFlags, ...pageFlags },
  endpoint: listReleaseFiles,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: releaseFileView,
  examples: [
    {
      line: 'svc apps static releases files --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --all',
      does: 'All of them',
    },
  ],
});
