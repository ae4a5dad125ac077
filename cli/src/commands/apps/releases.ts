import {
  activateRelease,
  approvePromotion,
  createRelease,
  diffRelease,
  fileChanges,
  finalizeRelease,
  getRelease,
  listReleaseFiles,
  listReleases,
  rejectPromotion,
  requestPromotion,
  revokeRelease,
  rollbackRelease,
  stageRelease,
} from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../command.ts';
import { sanitize } from '../../framework/text.ts';
import { appFlag, pageFlags } from '../../inputs/common.ts';
import { releaseBody } from '../../static/bodies.ts';
import { bodyFlags, releaseFlags, releaseParams } from '../../static/flags.ts';
import {
  draftView,
  promotionView,
  releaseDiffView,
  releaseFileView,
  releaseMovedText,
  releaseView,
} from '../../static/views.ts';

export const appsStaticReleasesList = defineCommand({
  words: 'apps static releases list',
  summary: 'List the releases of a site, newest first',
  description:
    'The roles of a release are staged, promote_requested, active, or superseded: it was active and can be rolled ' +
    'back to.',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listReleases,
  view: releaseView,
  examples: { '--app pet-shop': 'List all releases of a site' },
});

export const appsStaticReleasesGet = defineCommand({
  words: 'apps static releases get',
  summary: 'Show one release of a site',
  kind: 'read',
  flags: releaseFlags,
  endpoint: getRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  view: releaseView,
  examples: {
    '--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop': 'Show its content and status',
  },
});

export const appsStaticReleasesFiles = defineCommand({
  words: 'apps static releases files',
  summary: 'List the files of a release by path',
  kind: 'read',
  flags: { ...releaseFlags, ...pageFlags },
  endpoint: listReleaseFiles,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  view: releaseFileView,
  examples: { '--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --all': 'List all files' },
});

export const appsStaticReleasesDiff = defineCommand({
  words: 'apps static releases diff',
  summary: 'Compare the files of a release with another release or the active one',
  kind: 'read',
  flags: {
    ...releaseFlags,
    against: {
      type: 'string',
      placeholder: 'id',
      summary: 'Id of the release to compare with (the active release)',
    },
    change: {
      type: 'enum',
      values: [...fileChanges, 'different'],
      summary: 'Only files with this kind of change; different: all except unchanged files',
    },
    ...pageFlags,
  },
  endpoint: diffRelease,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    query: { against: flags.against, change: flags.change },
  }),
  view: releaseDiffView,
  examples: {
    '--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --change different':
      'List what would change for visitors',
  },
});

export const appsStaticReleasesCreate = defineCommand({
  words: 'apps static releases create',
  summary: 'Start a release from a list of files',
  description:
    'The object has files: [{path, sha256, size}] and optionally version, config and on_finalize. The answer lists ' +
    'the missing files: PUT each to upload_url followed by its SHA-256, then finalize the release. svc apps static ' +
    'deploy does all this for a folder.',
  kind: 'mutate',
  flags: { ...appFlag, ...bodyFlags },
  oneRequired: [['body-json', 'from-file']],
  endpoint: createRelease,
  input: async ({ flags, ctx }) => ({ body: await releaseBody(ctx, flags) }),
  present: (ctx, answer, { flags }) => {
    const line = `svc apps static releases finalize --release-id ${answer.number} --app ${sanitize(flags.app)} --execute`;
    if (ctx.globals.format === 'table')
      ctx.note(
        answer.missing.length === 0
          ? `Nothing is missing. Next: ${line}`
          : `PUT each missing file to upload_url followed by its SHA-256, then: ${line}`,
      );
    return answer;
  },
  view: draftView,
  examples: {
    '--app pet-shop --from-file release.json --execute': 'From a file',
    '--app pet-shop --body-json \'{"files":[{"path":"index.html","sha256":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","size":3}]}\'':
      'Preview it',
  },
});

export const appsStaticReleasesFinalize = defineCommand({
  words: 'apps static releases finalize',
  summary: 'Finish the upload of a release, which then never changes',
  description: 'All files must have been uploaded. A release created for deployment is activated or staged.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: finalizeRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: releaseMovedText,
  examples: { '--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute': 'Finalize it' },
});

export const appsStaticReleasesStage = defineCommand({
  words: 'apps static releases stage',
  summary: 'Show a release on the staging host',
  description:
    'Replaces the staged release; a request to promote that one is closed. Owners, co-owners and tenant admins can ' +
    'see the staging host.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: stageRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: releaseMovedText,
  examples: { '--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute': 'Stage it' },
});

export const appsStaticReleasesActivate = defineCommand({
  words: 'apps static releases activate',
  summary: 'Show a release to visitors',
  description:
    'If the app is visible beyond its owners, the release must have been reviewed: stage it and have it promoted. A ' +
    'site that was unpublished is shown again.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: activateRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: releaseMovedText,
  examples: { '--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute': 'Activate it' },
});

export const appsStaticReleasesRevoke = defineCommand({
  words: 'apps static releases revoke',
  summary: 'Revoke a release so that it is never shown again',
  description:
    'It is no longer staged, and a request to promote it is closed. A draft is discarded. The active release cannot ' +
    'be revoked.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: revokeRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: releaseMovedText,
  examples: { '--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute': 'Revoke it' },
});

export const appsStaticReleasesRollback = defineCommand({
  words: 'apps static releases rollback',
  summary: 'Show a release that visitors saw before',
  description: 'The ten newest releases without a role are retained for rollbacks.',
  kind: 'mutate',
  flags: releaseFlags,
  endpoint: rollbackRelease,
  input: async ({ tenant, flags, ctx }) => ({ params: await releaseParams(ctx, tenant, flags) }),
  text: releaseMovedText,
  examples: {
    '--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute': 'Roll back to it',
  },
});

export const appsStaticReleasesPromoteRequest = defineCommand({
  words: 'apps static releases promote-request',
  summary: 'Request a review of the staged release',
  description:
    'A tenant admin reviews the staging host, then approves or rejects the request. Only one request can be open. The ' +
    'release keeps its current configuration from then on.',
  kind: 'mutate',
  flags: { ...releaseFlags, note: { type: 'string', summary: 'What is new, for the reviewer' } },
  endpoint: requestPromotion,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    body: { note: flags.note },
  }),
  view: promotionView,
  finish: async (ctx, result, input) => {
    const { printPromotionNextStep } = await import('../../static/releases.ts');
    return printPromotionNextStep(ctx, result, input);
  },
  examples: {
    "--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --note 'new prices' --execute":
      'Request it',
  },
});

export const appsStaticReleasesPromoteApprove = defineCommand({
  words: 'apps static releases promote-approve',
  summary: 'Approve a reviewed release and show it to visitors',
  description:
    'For tenant admins other than the requester, unless the requester is the only admin. The approval covers what was ' +
    'staged at the time of the request: its files and configuration do not change afterwards. The preview shows where ' +
    'to review it.',
  kind: 'mutate',
  flags: {
    ...releaseFlags,
    note: { type: 'string', summary: 'What you have reviewed' },
    digest: {
      type: 'string',
      placeholder: 'digest',
      summary: 'Digest of what you have reviewed; fails for anything else',
    },
  },
  endpoint: approvePromotion,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    body: { note: flags.note, digest: flags.digest },
  }),
  text: releaseMovedText,
  finish: async (ctx, result, input) => {
    const { printPromotionDetails } = await import('../../static/releases.ts');
    return printPromotionDetails(ctx, result, input);
  },
  examples: {
    "--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --note 'looks right' --execute":
      'Approve it',
  },
});

export const appsStaticReleasesPromoteReject = defineCommand({
  words: 'apps static releases promote-reject',
  summary: 'Reject the promotion of a release, which stays staged',
  description: 'For tenant admins, and for owners other than the requester.',
  kind: 'mutate',
  flags: { ...releaseFlags, reason: { type: 'string', summary: 'Reason' } },
  endpoint: rejectPromotion,
  input: async ({ tenant, flags, ctx }) => ({
    params: await releaseParams(ctx, tenant, flags),
    body: { reason: flags.reason },
  }),
  view: promotionView,
  examples: {
    "--release-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --reason 'the prices are wrong' --execute":
      'Reject it with a reason',
  },
});
