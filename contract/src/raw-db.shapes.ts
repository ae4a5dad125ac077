import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { rawDbStatuses } from './raw-db.ts';
import { timestamp, unchanged } from './shapes.ts';

export const RawDb = z.object({
  enabled: z.boolean(),
  status: z.enum(rawDbStatuses),
  database: z.string().nullable(),
  role: z.string().nullable(),
  host: z.string().nullable(),
  port: z.int().nullable(),
  connections_max: z.int().nullable(),
  enabled_at: timestamp.nullable(),
});

export const getRawDb = { params: appParams, answer: RawDb };
export const enableRawDb = {
  params: appParams,
  answer: RawDb.extend({
    connection_string: z.string().optional().meta({
      description:
        'With the password; only in the answer that enables it. It works once `status` is `ready`.',
    }),
    changed: unchanged,
  }),
};
export const rotateRawDb = {
  params: appParams,
  answer: RawDb.extend({
    connection_string: z.string().meta({
      description: 'With the new password; only in this answer. It works once `status` is `ready`.',
    }),
  }),
};
export const disableRawDb = { params: appParams, answer: RawDb.extend({ changed: unchanged }) };
