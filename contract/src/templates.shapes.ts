import { z } from 'zod';
import { deployMethods } from './apps.ts';
import { gitRef, gitRepo } from './git-host.shapes.ts';
import { chars, displayName, empty, page, pageQuery, slug, tenantParams, uuid } from './shapes.ts';

export const Template = z.object({
  id: uuid,
  alias: z.string().nullable().meta({ description: 'A short name beside the id; null for none.' }),
  name: z.string(),
  description: z.string(),
  framework: z.string(),
  deploy_method: z.enum(deployMethods),
  built_in: z.boolean(),
  repo: z.string().nullable().meta({ description: 'Null for a built-in template.' }),
  ref: z.string().nullable(),
});

export const listTemplates = { params: tenantParams, query: pageQuery, answer: page(Template) };
export const createTemplate = {
  params: tenantParams,
  body: z.strictObject({
    repo: gitRepo,
    ref: gitRef
      .optional()
      .meta({ description: "A branch, tag or commit; defaults to the repository's default branch." }),
    name: displayName(1, 100),
    description: chars(0, 1_000).default(''),
    alias: slug.optional(),
  }),
  answer: Template,
};
export const deleteTemplate = { params: tenantParams.extend({ template: uuid }), answer: empty };
