import { z } from 'zod';
import { appNameCharsMax, visibilities } from './apps.ts';
import { chars, empty, page, pageQuery, ref, slug, tenantParams, timestamp, uuid } from './shapes.ts';

export const App = z.object({
  id: uuid,
  tenant_id: uuid,
  slug: z.string(),
  name: z.string(),
  owner_id: uuid,
  visibility: z.enum(visibilities),
  created_at: timestamp,
  updated_at: timestamp,
});

export const appParams = tenantParams.extend({ app: ref });

export const Owner = z.object({
  user_id: uuid,
  email: z.string(),
  name: z.string(),
  /** Exactly one of an app is its representative owner. */
  role: z.enum(['owner', 'co_owner']),
  since: timestamp,
});

export const createApp = {
  params: tenantParams,
  body: z.strictObject({
    slug: slug.optional().meta({ description: 'Made from the name when absent.' }),
    name: chars(1, appNameCharsMax),
  }),
  answer: App,
};
export const listApps = { params: tenantParams, query: pageQuery, answer: page(App) };
export const getApp = { params: appParams, answer: App };
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
  answer: Owner,
};
export const removeCoOwner = { params: appParams.extend({ userID: ref }), answer: empty };
