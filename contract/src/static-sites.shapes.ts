import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { visibilities } from './apps.ts';
import { displayName, page, pageQuery, ref, text, timestamp, unchanged, uuid } from './shapes.ts';
import { SiteConfig } from './site-config.shapes.ts';
import { retiredSiteKeys } from './site-config.ts';
import { releaseFileBytesMax, releaseFilesMax, sitePathBytesMax } from './site-paths.ts';
import {
  fileChanges,
  promotionStatuses,
  promotionTextCharsMax,
  releaseRoles,
  releaseStates,
  releaseTextBytesMax,
  releaseVersionCharsMax,
} from './static-sites.ts';

const releaseParams = appParams.extend({ release: uuid });
const sum = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 sum: 64 hexadecimal digits in small letters');

const Config = z.record(z.string(), z.unknown()).meta({ description: 'A site configuration.' });

export const Release = z.object({
  id: uuid,
  app_id: uuid,
  number: z.int().meta({ description: '1, 2, 3 … within the app.' }),
  version: z.string(),
  state: z.enum(releaseStates),
  roles: z.array(z.enum(releaseRoles)),
  files: z.int(),
  bytes: z.int(),
  digest: z.string().meta({
    description: 'Digest of the files and the configuration; a review approves this digest.',
  }),
  config: Config,
  on_finalize: z.enum(['nothing', 'deploy']),
  reviewed_for: z.enum(visibilities).nullable(),
  created_by: uuid,
  created_at: timestamp,
  finalized_at: timestamp.nullable(),
  activated_at: timestamp.nullable(),
  revoked_at: timestamp.nullable(),
});

export const Promotion = z.object({
  id: uuid,
  release_id: uuid,
  digest: z.string(),
  status: z.enum(promotionStatuses),
  note: z.string(),
  requested_by: uuid,
  requested_at: timestamp,
  decided_by: uuid.nullable(),
  decided_at: timestamp.nullable(),
  reason: z.string(),
});

export const Site = z.object({
  app_id: uuid,
  url: z.string().nullable(),
  staging_url: z.string().nullable(),
  published: z.boolean(),
  staging_enabled: z.boolean(),
  config: Config,
  generation: z.int(),
  active_release: Release.nullable(),
  staged_release: Release.nullable(),
  promotion: Promotion.nullable().meta({ description: 'The latest request to promote a release.' }),
  updated_at: timestamp.nullable(),
});

const Moved = Release.extend({
  pointer: z.enum(['active', 'staged']).nullable(),
  url: z.string().nullable().meta({ description: 'URL of the release, if it is served.' }),
  changed: unchanged,
});
const ChangedSite = Site.extend({ changed: unchanged });
const ChangedPromotion = Promotion.extend({ changed: unchanged });

const Upload = z.object({
  missing: z.array(z.string()).meta({ description: 'SHA-256 of the files to upload.' }),
  missing_bytes: z.int(),
  upload_url: z
    .string()
    .meta({ description: 'PUT each missing file to this URL with its SHA-256 appended.' }),
  upload_expires_at: timestamp,
});

const retired = Object.fromEntries(retiredSiteKeys.map((key) => [key, z.unknown().optional()]));
const word = text.max(promotionTextCharsMax);

export const getSite = { params: appParams, answer: Site };
export const setSite = {
  params: appParams,
  body: SiteConfig.safeExtend(
    retired as Record<(typeof retiredSiteKeys)[number], z.ZodOptional<z.ZodUnknown>>,
  ),
  answer: ChangedSite.extend({
    notices: z
      .array(z.string())
      .optional()
      .meta({ description: 'Fields that were ignored, and fields that keep their configuration.' }),
  }),
};
export const enableStaging = { params: appParams, answer: ChangedSite };
export const disableStaging = { params: appParams, answer: ChangedSite };
export const unpublishSite = { params: appParams, answer: ChangedSite };

export const listReleases = { params: appParams, query: pageQuery, answer: page(Release) };
export const getRelease = { params: releaseParams, answer: Release };
export const listReleaseFiles = {
  params: releaseParams,
  query: pageQuery,
  answer: page(z.object({ path: z.string(), sha256: z.string(), size: z.int() })),
};
export const diffRelease = {
  params: releaseParams,
  query: pageQuery.extend({
    against: uuid.optional().meta({ description: 'A release of the same site; defaults to the active one.' }),
    change: z
      .enum([...fileChanges, 'different'])
      .optional()
      .meta({ description: 'Only those; `different`: all but `same`.' }),
  }),
  answer: page(
    z.object({
      path: z.string(),
      change: z.enum(fileChanges),
      sha256: z.string().nullable(),
      size: z.int().nullable(),
      before_sha256: z.string().nullable(),
      before_size: z.int().nullable(),
    }),
  ).extend({
    against: uuid.nullable().meta({ description: 'Null if no release is active.' }),
    counts: z.object({ added: z.int(), removed: z.int(), changed: z.int(), same: z.int() }),
  }),
};
export const getReleaseFile = {
  params: releaseParams,
  query: z.strictObject({ path: text.min(1).max(sitePathBytesMax) }),
  answer: z.object({
    path: z.string(),
    sha256: z.string(),
    size: z.int(),
    text: z
      .string()
      .nullable()
      .meta({ description: `Null: it is not UTF-8, or larger than ${releaseTextBytesMax} bytes.` }),
  }),
};
export const createRelease = {
  params: appParams,
  body: z.strictObject({
    version: displayName(0, releaseVersionCharsMax).default(''),
    files: z
      .array(
        z.strictObject({
          path: z.string().meta({ description: 'Relative, with /, in the composed form of Unicode.' }),
          sha256: sum,
          size: z
            .int()
            .min(0)
            .meta({ description: `At most ${releaseFileBytesMax}.` }),
        }),
      )
      .min(1)
      .meta({ description: `At most ${releaseFilesMax}.` }),
    config: SiteConfig.default({}),
    on_finalize: z
      .enum(['nothing', 'deploy'])
      .default('nothing')
      .meta({ description: '`deploy`: show it, or stage it where a review comes first.' }),
  }),
  answer: Release.extend({ ...Upload.shape, changed: unchanged }),
};
export const grantUpload = { params: releaseParams, answer: Release.extend(Upload.shape) };
export const finalizeRelease = {
  params: releaseParams,
  answer: Moved.extend({
    newer_release_id: uuid.optional().meta({
      description: 'The newer release because of which this one was finalized but not deployed.',
    }),
  }),
};
export const stageRelease = { params: releaseParams, answer: Moved };
export const activateRelease = { params: releaseParams, answer: Moved };
export const rollbackRelease = { params: releaseParams, answer: Moved };
export const revokeRelease = { params: releaseParams, answer: Moved };
export const requestPromotion = {
  params: releaseParams,
  body: z.strictObject({ note: word.default('') }).default({ note: '' }),
  answer: ChangedPromotion,
};
export const approvePromotion = {
  params: releaseParams,
  body: z
    .strictObject({
      note: word.default(''),
      digest: sum
        .optional()
        .meta({ description: 'The digest that was reviewed; if given, only it is approved.' }),
    })
    .default({ note: '' }),
  answer: Moved,
};
export const rejectPromotion = {
  params: releaseParams,
  body: z.strictObject({ reason: word.default('') }).default({ reason: '' }),
  answer: ChangedPromotion,
};
export const startSiteAuth = {
  body: z.strictObject({
    target: z.string().min(1).max(2_000).meta({ description: 'The URL of the site to return to.' }),
    app: ref.optional().meta({ description: 'If given, the site must belong to this app.' }),
  }),
  answer: z.object({
    redirect_url: z.string().meta({ description: 'Valid once, for one minute.' }),
    target: z.string(),
    expires_at: timestamp,
  }),
};
