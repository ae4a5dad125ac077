import { z } from 'zod';
import { accessRequestNoteCharsMax, accessRequestStatuses } from './access-requests.ts';
import { appParams } from './apps.shapes.ts';
import { page, pageQuery, ref, tenantParams, text, timestamp, unchanged, uuid } from './shapes.ts';

export const AccessRequest = z.object({
  id: uuid,
  app_id: uuid,
  user_id: uuid,
  email: z.string(),
  name: z.string(),
  status: z.enum(accessRequestStatuses),
  note: z.string(),
  requested_at: timestamp,
  decided_by: uuid.nullable(),
  decided_at: timestamp.nullable(),
});

const requestParams = appParams.extend({ request: uuid });
const decided = AccessRequest.extend({ changed: unchanged });

export const requestAccess = {
  params: tenantParams,
  body: z.strictObject({
    app: ref.meta({ description: 'An app id or slug.' }),
    note: text.max(accessRequestNoteCharsMax).default('').meta({ description: 'For the owners.' }),
  }),
  answer: decided,
};
export const listAccessRequests = {
  params: appParams,
  query: pageQuery.extend({ status: z.enum(accessRequestStatuses).default('pending') }),
  answer: page(AccessRequest),
};
export const acceptAccessRequest = { params: requestParams, answer: decided };
export const refuseAccessRequest = { params: requestParams, answer: decided };
