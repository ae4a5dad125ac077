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

/** Names in place of ids, for tables only. Whatever cannot be looked up is shown by its id. */
export async function nameGrants<T>(ctx: Ctx, answer: T, whose: 'mine' | 'all'): Promise<T> {
  const { format, wide } = ctx.globals;
  const list = Array.isArray(answer) ? answer : (answer as { items: object[] }).items;
  if (format !== 'table' || wide || list.length === 0) return answer;
  const names = await (whose === 'mine' ? myNames(ctx) : allNames(ctx));
  const tables = whose === 'mine' ? await tablesByGrant(ctx) : undefined;
  const items = list.map((grant) => ({
    ...grant,
    ...(tables && { tables: tables.get(grant.id) ?? [] }),
    subject_name: whose === 'mine' ? (names.get(grant.subject_id) ?? 'you') : names.get(grant.subject_id),
    connector_name: names.get(grant.connector_id),
    preset_name: names.get(grant.preset_id),
    granted_by_name: names.get(grant.granted_by),
  }));
  return (Array.isArray(answer) ? items : { ...answer, items }) as T;
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
  ]);
  return byId(lists.flat());
}

function byId(entries: readonly Named[]): Map<string, string> {
  return new Map(entries.map((it) => [it.id ?? it.user_id ?? '', it.slug ?? it.email ?? it.name]));
}
