import { listPolicies } from '@svc/contract/access-policies.ts';
import { listConnectors } from '@svc/contract/connectors.ts';
import { getMyGrantTerms, listMyTables } from '@svc/contract/grants.ts';
import { listGroups } from '@svc/contract/groups.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { listPresets } from '@svc/contract/presets.ts';
import { listMembers } from '@svc/contract/tenants.ts';
import type { Ctx } from '../context.ts';
import { resolveTenant } from '../session/tenant.ts';

interface Named {
  id?: string;
  user_id?: string;
  name: string;
  slug?: string;
  email?: string;
}

type Records = Record<string, unknown>;

/** Names in place of ids, for tables only. Whatever cannot be looked up is shown by its id. */
export async function nameGrants<T>(ctx: Ctx, answer: T, whose: 'mine' | 'all'): Promise<T> {
  return withNames(ctx, answer, async () => {
    const names = await (whose === 'mine' ? myNames(ctx) : allNames(ctx));
    const tables = whose === 'mine' ? await tablesByGrant(ctx) : undefined;
    const nameOf = (id: unknown) => names.get(String(id));
    return (grant) => ({
      ...(tables && { tables: tables.get(String(grant.id)) ?? [] }),
      subject_name: nameOf(grant.subject_id) ?? (whose === 'mine' ? 'you' : undefined),
      connector_name: nameOf(grant.connector_id),
      preset_name: nameOf(grant.preset_id),
      policy_names: ((grant.policy_ids ?? []) as string[]).map((id) => nameOf(id) ?? id),
      granted_by_name: nameOf(grant.granted_by),
    });
  });
}

export async function namePolicies<T>(ctx: Ctx, answer: T): Promise<T> {
  return withNames(ctx, answer, async () => {
    const names = await allNames(ctx);
    return (policy) => ({
      connector_name: policy.connector_id === '' ? 'any' : names.get(String(policy.connector_id)),
      created_by_name: names.get(String(policy.created_by)),
      updated_by_name: names.get(String(policy.updated_by)),
    });
  });
}

export async function nameConnectors<T>(ctx: Ctx, answer: T): Promise<T> {
  return withNames(ctx, answer, async () => {
    const names = await allNames(ctx);
    return ({ connector_id }) => ({ connector_name: names.get(String(connector_id)) });
  });
}

async function withNames<T>(
  ctx: Ctx,
  answer: T,
  load: () => Promise<(record: Records) => Records>,
): Promise<T> {
  const { format, wide } = ctx.globals;
  const { items = answer } = answer as { items?: unknown };
  if (format !== 'table' || wide || (Array.isArray(items) && items.length === 0)) return answer;
  const namesOf = await load();
  const addNames = (record: Records) => ({ ...record, ...namesOf(record) });
  if (!Array.isArray(items)) return addNames(answer as Records) as T;
  return (Array.isArray(answer) ? items.map(addNames) : { ...answer, items: items.map(addNames) }) as T;
}

async function myNames(ctx: Ctx): Promise<Map<string, string>> {
  const params = { tenantID: await resolveTenant(ctx) };
  const terms = (await ctx.client()).call(getMyGrantTerms, { params });
  const named = terms.then(({ connectors, presets, groups, people }): Named[] => [
    ...connectors,
    ...presets,
    ...groups,
    ...people,
  ]);
  return byId(await named.catch(() => []));
}

/** `sales/orders` or `sales/orders (masked: email)`, by the id of the grant. */
async function tablesByGrant(ctx: Ctx): Promise<Map<string, string[]>> {
  const input = { params: { tenantID: await resolveTenant(ctx) }, query: { per_page: perPageMax } };
  const page = (await ctx.client()).call(listMyTables, input);
  const tables = new Map<string, string[]>();
  for (const { path, grants } of await page.then(
    ({ items }) => items,
    () => [],
  ))
    for (const { id, masked_columns } of grants) {
      const masked = masked_columns.length > 0 ? ` (masked: ${masked_columns.join(' ')})` : '';
      tables.set(id, [...(tables.get(id) ?? []), `${path}${masked}`]);
    }
  return tables;
}

async function allNames(ctx: Ctx): Promise<Map<string, string>> {
  const client = await ctx.client();
  const input = { params: { tenantID: await resolveTenant(ctx) }, query: { per_page: perPageMax } };
  const items = (page: Promise<{ items: Named[] }>) =>
    page.then(
      (found) => found.items,
      () => [],
    );
  const lists = await Promise.all([
    items(client.call(listConnectors, input)),
    items(client.call(listPresets, input)),
    items(client.call(listMembers, input)),
    items(client.call(listGroups, input)),
    items(client.call(listPolicies, input)),
  ]);
  return byId(lists.flat());
}

function byId(entries: readonly Named[]): Map<string, string> {
  return new Map(entries.map((it) => [it.id ?? it.user_id ?? '', it.slug ?? it.email ?? it.name]));
}
