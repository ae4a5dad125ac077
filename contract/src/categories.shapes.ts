import { z } from 'zod';
import { urlCharsMax } from './apps.ts';
import {
  categoryDescriptionCharsMax,
  categoryNameCharsMax,
  colorPattern,
  displayOrderMax,
  displayOrderMin,
} from './categories.ts';
import { isUploadedIcon } from './icons.ts';
import {
  chars,
  displayName,
  empty,
  page,
  pageQuery,
  ref,
  slug,
  someOf,
  tenantParams,
  text,
  timestamp,
  unchanged,
  uuid,
} from './shapes.ts';

export const Category = z.object({
  id: uuid,
  tenant_id: uuid,
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  color: z.string(),
  icon_url: z.string(),
  display_order: z.int(),
  created_at: timestamp,
  updated_at: timestamp,
});

const settings = {
  name: displayName(1, categoryNameCharsMax),
  slug,
  description: chars(0, categoryDescriptionCharsMax).meta({ description: 'Empty for none.' }),
  color: text
    .transform((value) => value.toLowerCase())
    .refine((value) => value === '' || colorPattern.test(value), { error: 'must be #rrggbb, or empty' })
    .meta({ description: '`#rrggbb`; empty for none.' }),
  icon_url: text
    .max(urlCharsMax)
    .refine((value) => value === '' || isUploadedIcon(value), {
      error: 'must be the URL of an uploaded icon, or empty',
    })
    .meta({ description: 'The `icon_url` of an upload; empty for none.' }),
  display_order: z
    .int()
    .min(displayOrderMin)
    .max(displayOrderMax)
    .meta({ description: 'Sort order, lowest first; equal values are sorted by name.' }),
};

const categoryParams = tenantParams.extend({ categoryID: ref });

export const listCategories = { params: tenantParams, query: pageQuery, answer: page(Category) };
export const createCategory = {
  params: tenantParams,
  body: z.strictObject({
    name: settings.name,
    slug: settings.slug.optional().meta({ description: 'Derived from the name when absent.' }),
    description: settings.description.default(''),
    color: settings.color.default(''),
    icon_url: settings.icon_url.default(''),
    display_order: settings.display_order.default(0),
  }),
  answer: Category,
};
export const getCategory = { params: categoryParams, answer: Category };
export const updateCategory = {
  params: categoryParams,
  body: someOf(settings),
  answer: Category.extend({ changed: unchanged }),
};
export const deleteCategory = { params: categoryParams, answer: empty };
