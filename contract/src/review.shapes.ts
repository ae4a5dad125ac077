import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { visibilities } from './apps.ts';
import { SchemaStep } from './declared-tables.shapes.ts';
import { LogPage, logQuery } from './deployments.shapes.ts';
import {
  publicationFilters,
  publicationPins,
  publicationStatuses,
  publicationTextCharsMax,
  publishedVisibilities,
  reviewKinds,
} from './review.ts';
import { chars, page, pageQuery, ref, tenantParams, text, timestamp, unchanged, uuid } from './shapes.ts';
import { fileChanges } from './static-sites.ts';

export const PublicationRequest = z.object({
  id: uuid,
  app_id: uuid,
  app_slug: z.string(),
  app_name: z.string(),
  status: z.enum(publicationStatuses),
  visibility: z.enum(publishedVisibilities).meta({ description: 'The requested visibility.' }),
  visibility_before: z
    .enum(visibilities)
    .meta({ description: 'Visibility of the app at the time of the request.' }),
  pinned: z.enum(publicationPins).meta({
    description:
      '`live`: what answers for the app. `staged`: what its staging host shows, to be shown by the approval. `built`: a new deployment of a published app, which goes live by the approval; the visibility stays.',
  }),
  deployment_id: uuid.nullable(),
  release_id: uuid.nullable(),
  data_scopes: z
    .array(z.string())
    .meta({ description: 'The data scopes that the app requests; the approval approves them.' }),
  data_scopes_before: z
    .array(z.string())
    .meta({ description: 'The approved data scopes at the time of the request.' }),
  digest: z.string().meta({ description: 'Digest of what is reviewed; only it can be approved.' }),
  note: z.string(),
  requested_by: uuid,
  requested_by_email: z.string(),
  requested_at: timestamp,
  expires_at: timestamp,
  decided_by: uuid.nullable(),
  decided_by_email: z.string(),
  decided_at: timestamp.nullable(),
  reason: z.string().meta({ description: "The reviewer's comment, or why the request ended." }),
});

const requestParams = tenantParams.extend({ request: uuid });
const Changed = PublicationRequest.extend({ changed: unchanged });
const word = text.max(publicationTextCharsMax);
const filters = pageQuery.extend({
  status: z.enum(publicationFilters).optional().meta({ description: '`settled`: all but `pending`.' }),
  visibility: z.enum(publishedVisibilities).optional(),
});

export const requestPublication = {
  params: appParams,
  body: z.strictObject({
    visibility: z.enum(publishedVisibilities),
    deployment_id: uuid.optional().meta({
      description:
        'What is live, where it must still be that; of a site with staging, also what is staged. A release that no deployment has made goes by its own id.',
    }),
    note: word.default(''),
  }),
  answer: Changed,
};
export const listPublicationsOfApp = { params: appParams, query: filters, answer: page(PublicationRequest) };
export const listPublications = {
  params: tenantParams,
  query: filters.extend({ app: ref.optional() }),
  answer: page(PublicationRequest),
};
export const getPublication = { params: requestParams, answer: PublicationRequest };
export const approvePublication = {
  params: requestParams,
  body: z.strictObject({ note: word.default('') }).default({ note: '' }),
  answer: Changed,
};
export const rejectPublication = {
  params: requestParams,
  body: z.strictObject({ reason: chars(1, publicationTextCharsMax) }),
  answer: Changed,
};
export const withdrawPublication = { params: requestParams, answer: Changed };

export const Review = PublicationRequest.extend({
  kind: z.enum(reviewKinds).meta({
    description:
      '`publication`: more people would see the app. `promotion`: a staged release of a site would be shown. `deployment`: a new build of a published app would go live.',
  }),
  visibility: z.enum(visibilities).meta({ description: 'The visibility after the approval.' }),
  expires_at: timestamp.nullable(),
  url: z.string().nullable().meta({ description: 'Where owners and reviewers can open what is reviewed.' }),
});

const ReviewedVersion = z.object({
  deployment_id: uuid.nullable(),
  deployment: z.int().nullable().meta({ description: 'Number of the deployment.' }),
  release_id: uuid.nullable(),
  release: z.int().nullable().meta({ description: 'Number of the release.' }),
  version: z.string().meta({ description: 'Label of the release, or empty.' }),
  commit_sha: z.string().nullable(),
  commit_message: z.string().nullable(),
  created_at: timestamp,
});

export const ReviewDiff = z.object({
  before: ReviewedVersion.nullable().meta({
    description: 'The version that visitors see now; null if there is none.',
  }),
  after: ReviewedVersion.nullable().meta({
    description: 'What is reviewed; null if it is no longer stored.',
  }),
  audience: z.object({
    before: z.enum(visibilities),
    after: z.enum(visibilities),
    invited: z.int().meta({ description: 'Invited people and groups.' }),
  }),
  files: z
    .object({
      added: z.int(),
      changed: z.int(),
      removed: z.int(),
      items: z.array(z.object({ path: z.string(), change: z.enum(fileChanges).exclude(['same']) })),
      truncated: z.boolean(),
    })
    .nullable()
    .meta({ description: 'Files of the release, or of the source; null if they are not stored.' }),
  tables: z.array(SchemaStep).nullable().meta({
    description:
      'What the deployment changes in the tables; approving it allows the destructive steps. Null if svc.yaml has no tables.',
  }),
});

const ChangedReview = Review.extend({ changed: unchanged });
const reviewFilters = pageQuery.extend({
  kind: z.enum(reviewKinds).optional(),
  status: z.enum(publicationFilters).optional().meta({ description: '`settled`: all but `pending`.' }),
  visibility: z.enum(publishedVisibilities).optional(),
});

export const listReviews = {
  params: tenantParams,
  query: reviewFilters.extend({ app: ref.optional() }),
  answer: page(Review),
};
export const listReviewsOfApp = { params: appParams, query: reviewFilters, answer: page(Review) };
export const getReview = { params: requestParams, answer: Review.extend({ diff: ReviewDiff }) };
export const approveReview = {
  params: requestParams,
  body: approvePublication.body,
  answer: ChangedReview,
};
export const rejectReview = { params: requestParams, body: rejectPublication.body, answer: ChangedReview };
export const withdrawReview = { params: requestParams, answer: ChangedReview };
export const readReviewLog = { params: requestParams, query: logQuery, answer: LogPage };
