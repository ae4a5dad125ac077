import { z } from 'zod';
import { createdWithinDaysMax, searchCharsMax, searchHitsMax, searchSorts } from './app-lists.ts';
import { App } from './apps.shapes.ts';
import { deploymentStatuses, operatingStatuses, visibilities } from './apps.ts';
import { perPageMax } from './limits.ts';
import { chars, page, pageQuery, ref, tenantParams, text, wholeNumber } from './shapes.ts';

export const ListedApp = App.omit({ description: true });
export const OwnApp = ListedApp.extend({ relation: z.enum(['owner', 'co_owner', 'member']) });
export const DiscoveredApp = ListedApp.extend({
  owner_name: z.string(),
  url: z.string().nullable().meta({ description: 'Where visitors open the app; null if it does not run.' }),
});

const words = chars(1, searchCharsMax).meta({
  description: 'Words in the name, slug, summary or description.',
});
const cursor = text.max(2_000).meta({ description: '`next_cursor` of the previous page.' });
/** Absent where the request has a cursor. */
const pageNumber = pageQuery.shape.page.unwrap().optional();
const category = ref.meta({ description: 'The id or slug of a category.' });
const reviewStatus = text.min(1).max(50);
const listOf = <T extends z.ZodType<string, string>>(item: T) =>
  z
    .string()
    .transform((value) => [...new Set(value.split(',').map((part) => part.trim()))])
    .pipe(z.array(item).min(1).max(20))
    .meta({ type: 'string', description: 'Comma-separated: any of them.' });

const filters = {
  status: z.enum(deploymentStatuses).optional(),
  status_in: listOf(z.enum(deploymentStatuses)).optional(),
  visibility: z.enum(visibilities).optional(),
};
const capped = z
  .literal(true)
  .optional()
  .meta({
    description: `More than ${searchHitsMax} apps have the words: some that fit less well were left out.`,
  });
const limit = wholeNumber(1, perPageMax).optional();

export const listApps = {
  params: tenantParams,
  query: pageQuery.extend({
    ...filters,
    page: pageNumber,
    cursor: cursor.optional(),
    q: words.optional(),
    category_id: category.optional(),
    operating_status: z.enum(operatingStatuses).optional(),
    operating_status_in: listOf(z.enum(operatingStatuses)).optional(),
    review_status: reviewStatus.optional(),
    review_status_in: listOf(reviewStatus).optional(),
    deleted: z
      .enum(['true', 'false'])
      .default('false')
      .meta({ description: 'Only deleted apps that you can restore or purge.' }),
    sort: z.enum(searchSorts).optional().meta({ description: '`relevance` (with q) or `slug` when absent.' }),
  }),
  answer: page(ListedApp).extend({ next_cursor: z.string().nullable(), capped }),
};
export const discoverApps = {
  params: tenantParams,
  query: pageQuery.extend({
    category: category.optional(),
    created_within_days: wholeNumber(1, createdWithinDaysMax).optional(),
    limit,
    q: words.optional(),
    sort: z
      .enum(searchSorts)
      .optional()
      .meta({ description: '`relevance` (with q) or `-created_at` when absent.' }),
  }),
  answer: page(DiscoveredApp).extend({ capped }),
};
export const searchApps = {
  params: tenantParams,
  query: pageQuery.extend({
    ...filters,
    q: words,
    category: category.optional(),
    page: pageNumber,
    cursor: cursor.optional(),
    limit,
    sort: z.enum(searchSorts).default('relevance'),
  }),
  answer: z.object({ items: z.array(ListedApp), next_cursor: z.string().nullable(), capped }),
};

const Name = z.object({
  name: z.string(),
  available: z.boolean(),
  reason: z.enum(['taken', 'reserved', 'invalid']).nullable(),
  suggestions: z.array(z.string()),
});
export const checkAvailability = {
  params: tenantParams,
  query: z
    .strictObject({ slug: text.min(1).max(200).optional(), subdomain: text.min(1).max(200).optional() })
    .refine((query) => query.slug !== undefined || query.subdomain !== undefined, {
      error: 'is required unless subdomain is set',
      path: ['slug'],
      params: { code: 'required' },
    }),
  answer: z.object({
    available: z.boolean().meta({ description: 'Whether every requested name is available.' }),
    slug: Name.nullable(),
    subdomain: Name.nullable(),
  }),
};

const ownApps = { params: tenantParams, query: pageQuery, answer: page(OwnApp) };
export const listMyApps = ownApps;
export const listOwnedApps = ownApps;
export const listReceivedApps = ownApps;
export const listWorkspace = ownApps;
