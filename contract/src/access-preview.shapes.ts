import { z } from 'zod';
import { updatePolicy } from './access-policies.shapes.ts';
import { maskKinds } from './access-policies.ts';
import { accessActions, accessSources, columnAccess, previewRowsMax, previewVia } from './access-preview.ts';
import { chars, ref, tenantParams, uuid } from './shapes.ts';

export const AccessSource = z.object({
  kind: z.enum(accessSources),
  id: z.string(),
  name: z.string(),
});

const because = z.array(AccessSource);
const mask = z.enum(maskKinds).nullable();
const actions = z.array(z.enum(accessActions));
const reason = z.string().nullable().meta({ description: 'Why nothing is visible; null if something is.' });
const next = z.string().nullable().meta({ description: 'What to do about it.' });
const filter = z.string().meta({ description: 'Which rows are visible, in words.' });

export const OwnAccess = z.object({
  actions,
  columns: z.array(z.object({ name: z.string(), access: z.enum(['clear', 'masked']), mask })),
  filter,
  because,
  reason,
  next,
});

export const AccessPreview = z.object({
  subject: z.object({ id: uuid, email: z.string() }),
  resource: z.string().meta({ description: '`connector/schema/table`, or `app/table`.' }),
  text: z.string().meta({ description: 'The answer in a few sentences.' }),
  actions,
  columns: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      access: z.enum(columnAccess),
      mask,
      text: z.string(),
      because,
    }),
  ),
  filter,
  because,
  rows: z.object({
    visible: z.int().nullable(),
    all: z.int().nullable(),
  }),
  sample: z.array(z.record(z.string(), z.unknown())).meta({
    description: `At most ${previewRowsMax} rows as the person sees them, of those you may see yourself.`,
  }),
  sample_withheld: z.string().nullable().meta({ description: 'Why rows or values are not shown to you.' }),
  withheld_columns: z.array(z.string()).meta({ description: 'Shown as null because you cannot see them.' }),
  reason,
  next,
});

export const previewAccess = {
  params: tenantParams,
  body: z.strictObject({
    as: ref.optional().meta({ description: 'Id or e-mail address of a member; yourself by default.' }),
    connector: ref.optional(),
    resource_path: chars(1, 300).optional().meta({ description: '`schema/table`, with `connector`.' }),
    app: ref.optional(),
    table: chars(1, 100).optional().meta({ description: 'With `app`.' }),
    via: z.enum(previewVia).default('app'),
    policy: z
      .strictObject({ ...updatePolicy.body.shape, id: uuid.optional() })
      .optional()
      .meta({
        description:
          'A policy to try without saving it. One with the id or name of a stored policy changes that one; a new one is ' +
          'tried as if the grants of the person named it.',
      }),
  }),
  answer: AccessPreview,
};
