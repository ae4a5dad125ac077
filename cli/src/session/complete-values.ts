import { createHash } from 'node:crypto';
import { listApps } from '@svc/contract/app-lists.ts';
import { listCategories } from '@svc/contract/categories.ts';
import { listConnectors } from '@svc/contract/connectors.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { listPresets } from '@svc/contract/presets.ts';
import { listTables } from '@svc/contract/tables.ts';
import { listTemplates } from '@svc/contract/templates.ts';
import { listTenants } from '@svc/contract/tenants.ts';
import type { Ctx } from '../context.ts';
import type { Candidate, TypedValues } from '../framework/completion.ts';
import { type Config, configDir, configFile, readProfiles } from './profile.ts';
import { writeFileAtomically } from './profile-store.ts';
import { resolveTenant } from './tenant.ts';

/** A person waits for the answer with a finger on the Tab key. */
export const completionMsMax = 1000;
const freshMs = 30_000;
const entriesMax = 50;
const cacheFile = 'completion.json';

type Lookup = (ctx: Ctx, typed: TypedValues) => Promise<Candidate[]>;

/** Keys are names of flags and positionals. */
const lookups: Readonly<Record<string, Lookup>> = {
  app: apps,
  source: apps,
  tenant: async (ctx) =>
    (await (await ctx.client()).call(listTenants, { query: { per_page: perPageMax } })).items.map(
      ({ slug, name }) => [slug, name],
    ),
  template: async (ctx) => {
    const { items } = await (await ctx.client()).call(listTemplates, await inTenant(ctx));
    return items.map(({ alias, id, name }) => [alias ?? id, name]);
  },
  table: async (ctx, { app }) => {
    const found = app ?? (await (await import('../manifest/defaults.ts')).manifestDefaults(ctx.io))?.app;
    if (!found) return [];
    const params = { tenantID: await resolveTenant(ctx), app: found };
    const { items } = await (await ctx.client()).call(listTables, {
      params,
      query: { per_page: perPageMax },
    });
    return items.map(({ name, description }) => [name, description]);
  },
  category: async (ctx) =>
    (await (await ctx.client()).call(listCategories, await inTenant(ctx))).items.map(({ slug, name }) => [
      slug,
      name,
    ]),
  connector: async (ctx) =>
    (await (await ctx.client()).call(listConnectors, await inTenant(ctx))).items.map(({ slug, name }) => [
      slug,
      name,
    ]),
  preset: async (ctx) =>
    (await (await ctx.client()).call(listPresets, await inTenant(ctx))).items.map(({ name, description }) => [
      name,
      description,
    ]),
};

async function apps(ctx: Ctx): Promise<Candidate[]> {
  const { items } = await (await ctx.client()).call(listApps, await inTenant(ctx));
  return items.map(({ slug, name }) => [slug, name]);
}

async function inTenant(ctx: Ctx) {
  return { params: { tenantID: await resolveTenant(ctx) }, query: { per_page: perPageMax } };
}

interface Cached {
  at: number;
  values: Candidate[];
}

/**
 * Values of an argument. A failure is cached too, so that a server that does not answer delays only the first Tab;
 * what was known before is then offered again.
 */
export async function completeValues(ctx: Ctx, name: string, typed: TypedValues): Promise<Candidate[]> {
  const dir = configDir(ctx.io.env);
  if (name === 'profile')
    return Object.entries((await readProfiles<Config>(dir, configFile)).profiles).map(
      ([profile, { base_url }]) => [profile, base_url ?? ''],
    );
  const lookup = lookups[name];
  if (lookup === undefined) return [];
  const { baseUrl, profile } = await ctx.session();
  const who = ctx.io.env.SVC_TOKEN ?? profile;
  const key = createHash('sha256')
    .update(JSON.stringify([baseUrl, who, ctx.globals.tenant, ctx.io.cwd(), name, typed.app]))
    .digest('base64url')
    .slice(0, 22);
  const path = `${dir}/${cacheFile}`;
  const cache = await readCache(path);
  const known = cache[key];
  const now = ctx.io.now().getTime();
  if (known !== undefined && Math.abs(now - known.at) < freshMs) return known.values;
  const values = await lookup(ctx, typed).catch(() => known?.values ?? []);
  const newest = Object.entries({ ...cache, [key]: { at: now, values } })
    .sort(([, a], [, b]) => b.at - a.at)
    .slice(0, entriesMax);
  try {
    writeFileAtomically(path, Object.fromEntries(newest), 0o600);
  } catch {
    // A read-only folder: the next Tab asks again.
  }
  return values;
}

async function readCache(path: string): Promise<Record<string, Cached>> {
  try {
    return await Bun.file(path).json();
  } catch {
    return {};
  }
}
