import { z } from 'zod';
import { notificationIdsMax, notificationKinds } from './notifications.ts';
import { pageQuery, tenantParams, text, timestamp, uuid } from './shapes.ts';

export const Notification = z.object({
  id: uuid,
  kind: z.enum(notificationKinds),
  app_id: uuid.nullable(),
  app_slug: z.string().nullable(),
  title: z.string(),
  text: z.string(),
  path: z.string().meta({ description: 'Path in the console.' }),
  created_at: timestamp,
  read_at: timestamp.nullable(),
});

const unread = z.int().meta({ description: 'Number of unread notifications.' });

export const listNotifications = {
  params: tenantParams,
  query: pageQuery.omit({ page: true }).extend({
    unread: z.enum(['true', 'false']).default('false').meta({ description: 'Only unread notifications.' }),
    cursor: text.max(200).optional().meta({ description: '`next_cursor` of the previous page.' }),
  }),
  answer: z.object({ items: z.array(Notification), unread, next_cursor: z.string().nullable() }),
};

export const readNotifications = {
  params: tenantParams,
  body: z
    .strictObject({
      ids: z.array(uuid).min(1).max(notificationIdsMax).optional(),
      all: z.literal(true).optional(),
    })
    .refine((body) => (body.ids === undefined) !== (body.all === undefined), {
      error: 'either ids or all is required',
    }),
  answer: z.object({
    changed: z.int().meta({ description: 'Number of notifications that were unread.' }),
    unread,
  }),
};
