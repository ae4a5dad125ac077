import { z } from 'zod';
import { accessLogActors, accessLogPerPageMax } from './access-log.ts';
import { instantOrNone, ref, tenantParams, text, timestamp, uuid, wholeNumber } from './shapes.ts';

export const AccessLogEntry = z.object({
  id: z.string(),
  at: timestamp,
  actor_kind: z.enum(accessLogActors),
  actor_id: uuid,
  actor_name: z.string().meta({ description: 'E-mail address, app or service account at that time.' }),
  through_app_id: uuid.nullable().meta({ description: 'The app that read for the person.' }),
  through_app_slug: z
    .string()
    .nullable()
    .meta({ description: 'Its present slug; null after it was purged.' }),
  connector_id: uuid.nullable(),
  app_id: uuid.nullable().meta({ description: 'The app whose table was read.' }),
  resource_path: z.string(),
  action: z.string(),
  columns: z.array(z.string()),
  masked_columns: z.array(z.string()),
  rows: z.int(),
  grant_ids: z.array(z.string()),
  policy_ids: z.array(z.string()),
  request_id: z.string(),
});

export const listAccessLog = {
  params: tenantParams,
  query: z.strictObject({
    user: ref
      .optional()
      .meta({ description: 'Id or e-mail address of a member, or the id of another reader.' }),
    app: ref.optional().meta({ description: 'App that was read, or that read for a person.' }),
    connector: ref.optional(),
    path: text.min(1).max(300).optional().meta({ description: '`schema`, or `schema/table`.' }),
    from: instantOrNone.optional(),
    to: instantOrNone.optional(),
    cursor: text.max(200).optional().meta({ description: '`next_cursor` of the previous page.' }),
    per_page: wholeNumber(1, accessLogPerPageMax).default(50),
  }),
  answer: z.object({ items: z.array(AccessLogEntry), next_cursor: z.string().nullable() }),
};
