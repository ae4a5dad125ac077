import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { deploymentStates } from './deployments.ts';
import { slugPattern } from './limits.ts';
import { empty, page, pageQuery, timestamp, uuid } from './shapes.ts';

const previewParams = appParams.extend({
  preview: z.string().regex(slugPattern, 'must be the slug of a preview').meta({
    description: 'The slug of the preview: the part of its host before `--`.',
  }),
});

export const Preview = z.object({
  id: uuid.meta({ description: 'Stands for the preview where an app is named: logs, deployments, tables.' }),
  branch: z.string(),
  slug: z.string(),
  url: z.string(),
  commit: z.string(),
  commit_message: z.string().nullable(),
  deployment: z
    .object({ id: uuid, seq: z.int(), state: z.enum(deploymentStates) })
    .nullable()
    .meta({ description: 'The newest one.' }),
  live: z.boolean().meta({ description: 'Whether a deployment of it is live; it may sleep.' }),
  pushed_by: uuid.nullable(),
  pushed_at: timestamp,
  expires_at: timestamp.meta({ description: 'It is removed then, unless there is a push before.' }),
  created_at: timestamp,
});

export const listPreviews = { params: appParams, query: pageQuery, answer: page(Preview) };
export const getPreview = { params: previewParams, answer: Preview };
export const redeployPreview = { params: previewParams, answer: Preview };
export const deletePreview = { params: previewParams, answer: empty };
