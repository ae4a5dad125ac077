import { createRelease } from '@svc/contract/static-sites.ts';
import { appFlag } from '../../../../app-flag.ts';
import { defineCommand } from '../../../../define-command.ts';
import { plain } from '../../../../output.ts';
import { releaseBody } from '../../../../static/release-body.ts';
import { bodyFlags } from '../../../../static/release-flags.ts';
import { draftView } from '../../../../static/release-views.ts';

export default defineCommand({
  words: 'apps static releases create',
  summary: 'Begin a release from a list of files',
  description:
    'The object holds files: [{path, sha256, size}], and may hold version, config and on_finalize. The answer says which ' +
    'files are missing: PUT each to upload_url with its sum appended, then finalize the release. svc apps static deploy ' +
    'does all of this for a folder.',
  kind: 'mutate',
  flags: { ...appFlag, ...bodyFlags },
  oneRequired: [['body-json', 'from-file']],
  endpoint: createRelease,
  input: async ({ tenant, flags, ctx }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: await releaseBody(ctx, flags),
  }),
  present: (ctx, answer, { flags }) => {
    const line = `svc apps static releases finalize --release-id ${answer.number} --app ${plain(flags.app)} --execute`;
    if (ctx.globals.format === 'table')
      ctx.note(
        answer.missing.length === 0
          ? `Nothing is missing. Next: ${line}`
          : `PUT each missing file to upload_url with its sum appended, then: ${line}`,
      );
    return answer;
  },
  view: draftView,
  examples: [
    {
      line: 'svc apps static releases create --app pet-shop --from-file release.json --execute',
      does: 'From a file',
    },
    {
      line:
        'svc apps static releases create --app pet-shop --body-json ' +
        '\'{"files":[{"path":"index.html","sha256":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","size":3}]}\'',
      does: 'See what would be made',
    },
  ],
});
