import { z } from 'zod';
import { appParams, appSlug } from './apps.shapes.ts';
import { iconTypes, iconVariants } from './icons.ts';
import { tenantParams, timestamp, uuid } from './shapes.ts';

const variant = z.enum(iconVariants);
const contentType = z.enum(iconTypes);

const IconUpload = z.object({
  put_url: z.string().meta({
    description:
      'PUT the file here, with its Content-Type and without a login. Good once, until `expires_at`.',
  }),
  icon_url: z.string().meta({ description: 'Public URL of the icon, once it is uploaded.' }),
  content_type: contentType,
  variant,
  bytes_max: z.int(),
  expires_at: timestamp,
  plan: z
    .object({
      operation: z.string(),
      target: z.object({ kind: z.string(), id: z.string(), name: z.string() }),
      changes: z.array(
        z.object({
          path: z.string(),
          before: z.unknown(),
          after: z.unknown(),
          effect: z.enum(['create', 'update', 'delete']),
        }),
      ),
      warnings: z.array(z.string()),
      irreversible: z.boolean(),
      fingerprint: z.string(),
    })
    .meta({
      description:
        'The changes that the upload will make; send its fingerprint as `If-Plan` to refuse others.',
    }),
});

export const preCreateIcon = {
  params: tenantParams,
  body: z.strictObject({
    slug: appSlug.meta({ description: 'Slug of the future app; it need not be available.' }),
    content_type: contentType,
    variant: variant.default('light'),
  }),
  answer: IconUpload,
};
export const signIcon = {
  params: appParams,
  body: z.strictObject({ content_type: contentType, variant: variant.default('light') }),
  answer: IconUpload,
};

export const Icon = z.object({
  id: uuid,
  icon_url: z.string(),
  app_id: uuid.nullable().meta({ description: 'The app that uses the icon; null if none does yet.' }),
  variant,
  content_type: contentType,
  size: z.int(),
  width: z.int(),
  height: z.int(),
  sha256: z.string(),
});
