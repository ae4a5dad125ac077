import { z } from 'zod';
import { deployMethods } from './apps.ts';
import { page, pageQuery, tenantParams, uuid } from './shapes.ts';

export const Template = z.object({
  id: uuid,
  alias: z.string().nullable().meta({ description: 'A short name beside the id; null for none.' }),
  name: z.string(),
  description: z.string(),
  framework: z.string(),
  deploy_method: z.enum(deployMethods),
  built_in: z.boolean(),
});

export const listTemplates = { params: tenantParams, query: pageQuery, answer: page(Template) };
