import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { visibilities } from './apps.ts';
import {
  publicationFilters,
  publicationPins,
  publicationStatuses,
  publicationTextCharsMax,
  publishedVisibilities,
} from './review.ts';
import { chars, page, pageQuery, ref, tenantParams, text, timestamp, unchanged, uuid } from './shapes.ts';

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
