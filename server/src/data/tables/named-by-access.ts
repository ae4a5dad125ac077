import { type Condition, FilterError, parseRowFilter } from '@svc/contract/filter.ts';
import { listConnectorsOfApp } from '../../access/connectors/connectors.ts';
import { listGrantRowsNaming } from '../../access/grants/grants.ts';
import { covers } from '../../access/grants/rules.ts';
import { loadPoliciesOf, type PolicyRow } from '../../access/policies/policies.ts';
import { type AppMutationCtx, appRef } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import type { TableRow } from './store.ts';

const namedMax = 5;

/** Grants and policies that speak of the table, of the connectors that open the app's tables. */
async function loadUses(ctx: AppMutationCtx, table: string) {
  const connectors = await listConnectorsOfApp(ctx.db, appRef(ctx));
  const on = { connectorIds: connectors.map(({ id }) => id), path: `${ctx.app.slug}/${table}` };
  if (connectors.length === 0) return { ...on, grants: [], policies: [] };
  return {
    ...on,
    grants: await listGrantRowsNaming(ctx.db, ctx.tenant.id, on),
    policies: (await loadPoliciesOf(ctx.db, ctx.tenant.id, on.connectorIds)).filter(
      ({ resource_path }) => resource_path === '' || covers(resource_path, on.path),
    ),
  };
}

const listed = (items: readonly string[]) => items.slice(0, namedMax).join(', ');

/** Under another name, a policy would no longer narrow the table; a table made later would be open by its grants. */
export async function requireRenamable(ctx: AppMutationCtx, { name }: Pick<TableRow, 'name'>): Promise<void> {
  const { grants, policies, path } = await loadUses(ctx, name);
  const naming = policies.filter(({ resource_path }) => resource_path === path);
  refuseWhileGranted(grants);
  if (naming.length > 0)
    throw fail('table_in_use', {
      detail: `Access policies name it: ${listed(naming.map((policy) => policy.name))}.`,
    });
}

export async function requireDroppable(ctx: AppMutationCtx, { name }: Pick<TableRow, 'name'>): Promise<void> {
  refuseWhileGranted((await loadUses(ctx, name)).grants);
}

function refuseWhileGranted(grants: readonly { id: string }[]): void {
  if (grants.length > 0)
    throw fail('table_in_use', { detail: `Active grants name it: ${listed(grants.map(({ id }) => id))}.` });
}

/** A grant can name a table before there is one. */
export async function warnIfGranted(ctx: AppMutationCtx, name: string): Promise<void> {
  const { grants } = await loadUses(ctx, name);
  if (grants.length > 0)
    ctx.warn(
      `Active grants name ${name}, so people can use it at once: ${listed(grants.map(({ id }) => id))}.`,
    );
}

/** Otherwise another column could take the name, and with it the place in the policy. */
export async function requireUnnamedColumn(
  ctx: AppMutationCtx,
  { name }: Pick<TableRow, 'name'>,
  column: string,
): Promise<void> {
  const { policies } = await loadUses(ctx, name);
  const naming = policies.filter((policy) => columnsNamedBy(policy).has(column));
  if (naming.length > 0)
    throw fail('column_in_use', {
      detail: `Access policies name ${column}: ${listed(naming.map((policy) => policy.name))}.`,
    });
}

function columnsNamedBy({ columns, masks, row_filter }: PolicyRow): Set<string> {
  const inCondition = (condition: Condition): string[] =>
    condition.kind === 'test' ? [condition.column] : condition.parts.flatMap(inCondition);
  return new Set([
    ...columns.names,
    ...masks.map(({ column }) => column),
    ...parsedFilter(row_filter).flatMap(inCondition),
  ]);
}

function parsedFilter(text: string): readonly Condition[] {
  try {
    return parseRowFilter(text);
  } catch (error) {
    if (error instanceof FilterError) return [];
    throw error;
  }
}
