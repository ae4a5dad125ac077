import { diffRelease, fileChanges } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { pageFlags } from '../../../../page-flags.ts';
import { releaseFlags, releaseParams } from '../../../../static/release-flags.ts';
import { releaseDiffView } from '../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static releases diff',
  summary: 'List what became of each file since another release, or since what visitors see',
  kind: 'read',
  flags: {
    ...releaseFlags,
    against: {
      type: 'string',
      placeholder: 'id',
      summary: 'The release to compare with, by its id (the one that visitors see)',
    },
    change: {
      type: 'enum',
      values: [...fileChanges, 'different'],
      summary: 'Only files of that kind; different: all but those that are the same',
    },
    ...pageFlags,
  },
  endpoint: diffRelease,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    query: {
      against: flags.against,
      change: flags.change,
      page: flags.page,
      per_page: flags['per-page'],
    },
  }),
  view: releaseDiffView,
  examples: [
    {
      line: 'svc apps static releases diff --release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --change different',
      does: 'What visitors would see changed',
    },
  ],
});
