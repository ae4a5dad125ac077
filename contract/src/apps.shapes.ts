import { z } from 'zod';
import {
  appDescriptionCharsMax,
  appNameCharsMax,
  appSummaryCharsMax,
  authModes,
  costCenterCharsMax,
  dataScopeCharsMax,
  dataScopesMax,
  deployMethods,
  deploymentStatuses,
  operatingStatuses,
  reservedSlugs,
  reservedSubdomains,
  reviewStatuses,
  urlCharsMax,
  visibilities,
} from './apps.ts';
import { dataScopeForm, parseDataScope } from './data-scopes.ts';
import { isUploadedIcon } from './icons.ts';
import { resourceTiers } from './limits.ts';
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

export const App = z.object({
  id: uuid,
  tenant_id: uuid,
  slug: z.string(),
  name: z.string(),
  summary: z.string(),
  description: z.string(),
  category_id: uuid.nullable(),
  subdomain: z.string().nullable(),
  auth_mode: z.enum(authModes),
  data_scopes: z.array(z.string()).meta({ description: 'What the app requests.' }),
  approved_data_scopes: z.array(z.string()).meta({
    description: 'What was approved in a review. Visitors get the requested scopes that are in it.',
  }),
  deploy_method: z.enum(deployMethods),
  resource_preset: z.enum(resourceTiers),
  visibility: z.enum(visibilities),
  cost_center: z.string().nullable(),
  icon_url: z.string().nullable(),
  icon_dark_url: z.string().nullable(),
  owner_id: uuid,
  record: z.enum(['active', 'archived', 'deleted']),
  runtime: z.enum(['none', 'running', 'suspended']),
  deployment_status: z.enum(deploymentStatuses),
  operating_status: z.enum(operatingStatuses),
  review_status: z.string().meta({ description: `${reviewStatuses.join(', ')}; more may come.` }),
  deleted_at: timestamp.nullable(),
  purge_after: timestamp.nullable().meta({ description: 'A deleted app is purged after this.' }),
  created_at: timestamp,
  updated_at: timestamp,
});

export const appParams = tenantParams.extend({ app: ref });

export const Owner = z.object({
  user_id: uuid,
  email: z.string(),
  name: z.string(),
  role: z.enum(['owner', 'co_owner']),
  since: timestamp,
});

/** Slugs share URL segments with words of the API. */
export const appSlug = slug.refine((value) => !reservedSlugs.includes(value), {
  error: 'is a reserved word',
});
export const subdomain = slug
  .refine((value) => !reservedSubdomains.includes(value), { error: 'is a reserved word' })
  // `--` separates the subdomain from `staging`, and marks punycode.
  .refine((value) => !value.includes('--'), { error: 'must not contain --' });
const iconUrl = text
  .max(urlCharsMax)
  .refine(isUploadedIcon, { error: 'must be the URL of an uploaded icon' })
  .meta({ format: 'uri', description: 'The `icon_url` of an upload; no other URL is accepted.' });
const dataScope = displayName(1, dataScopeCharsMax)
  .refine((value) => !value.includes('/') || parseDataScope(value) !== null, {
    error: `must be ${dataScopeForm}`,
  })
  .meta({
    description: `\`${dataScopeForm.split(',')[0]}\`, such as \`warehouse/sales/orders:read\`, or a name.`,
  });
const scopes = z
  .array(dataScope)
  .transform((list) => [...new Set(list)])
  .pipe(z.array(z.string()).max(dataScopesMax));

const settings = {
  name: displayName(1, appNameCharsMax),
  summary: chars(0, appSummaryCharsMax)
    .refine((value) => !/[\p{Cc}\u2028\u2029]/u.test(value), { error: 'must be one line' })
    .meta({ description: 'One line; empty for none.' }),
  description: chars(0, appDescriptionCharsMax).meta({ description: 'Empty for none.' }),
  auth_mode: z.enum(authModes).meta({ description: 'How the app authenticates its callers.' }),
  data_scopes: scopes,
  resource_preset: z.enum(resourceTiers).meta({ description: "At most the tenant's `max_resource_tier`." }),
};
const category = ref.meta({ description: 'The id or slug of a category.' });

export const createApp = {
  params: tenantParams,
  body: z
    .strictObject({
      ...settings,
      slug: appSlug.meta({ description: 'Derived from the name when absent.' }),
      category: category.nullable(),
      subdomain: subdomain.nullable().meta({
        description: 'Subdomain below the apps domain. Derived from the slug when absent; null for none.',
      }),
      deploy_method: z.enum(deployMethods).meta({ description: 'Cannot be changed later.' }),
      cost_center: displayName(1, costCenterCharsMax).nullable(),
      icon_url: iconUrl.nullable(),
      icon_dark_url: iconUrl.nullable(),
      storage: z.strictObject({ enabled: z.boolean() }),
    })
    .partial()
    .required({ name: true }),
  answer: App,
};
export const updateApp = {
  params: appParams,
  body: someOf({
    ...settings,
    category_id: category.nullable(),
    subdomain: subdomain.nullable(),
    cost_center: displayName(1, costCenterCharsMax).nullable(),
    icon_url: iconUrl.nullable(),
    icon_dark_url: iconUrl.nullable(),
    visibility: z.enum(visibilities).meta({ description: 'Can only become narrower; `publish` widens it.' }),
    slug: text.meta({ description: 'Cannot change: any other value than the present one is refused.' }),
    deploy_method: text.meta({
      description: 'Cannot change: any other value than the present one is refused.',
    }),
  }),
  answer: App.extend({ changed: unchanged }),
};
export const getApp = {
  params: appParams,
  answer: App.extend({
    url: z.string().nullable().meta({
      description: 'Host of the app below the apps domain, even if it is not served; null for none.',
    }),
    relation: z
      .enum(['owner', 'co_owner', 'member', 'none'])
      .meta({ description: 'Your relation to the app.' }),
    owner_name: z.string().meta({ description: 'Name of the representative owner.' }),
    owner_email: z.string().meta({ description: 'E-mail address of the representative owner.' }),
  }),
};
const parts = z.record(z.string(), z.unknown());
export const getAppDocument = {
  params: appParams,
  answer: z.object({
    openapi: z.string(),
    info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
    servers: z.array(z.object({ url: z.string() })),
    tags: z.array(parts),
    paths: z.record(z.string(), parts),
    components: z.record(z.string(), parts),
  }),
};
export const listCoOwners = { params: appParams, query: pageQuery, answer: page(Owner) };
export const addCoOwner = {
  params: appParams,
  body: z.strictObject({ user_id: ref.meta({ description: 'A user id or an e-mail address.' }) }),
  answer: Owner.extend({ changed: unchanged }),
};
export const removeCoOwner = { params: appParams.extend({ userID: ref }), answer: empty };
