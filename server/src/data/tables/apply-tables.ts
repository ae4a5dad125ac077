import { type ColumnSpec, columnSpecText, parseColumnSpec } from '@svc/contract/column-spec.ts';
import { presetOf, rolesOfRules, type TableRules } from '@svc/contract/table-rules.ts';
import type { AppSchema, declaredTable, applyTables as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { type AppCtx, type AppMutationCtx, appRef } from '../../core/context.ts';
import { fail, validationError } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { newTableRules, setTableAccess } from './access.ts';
import { addColumn } from './columns.ts';
import { listTableDefinitions } from './definitions.ts';
import { resetTimeouts } from './physical-lock.ts';
import { inReferenceOrder } from './references.ts';
import { columnSpec } from './rules.ts';
import { findTableRow, type TableRow } from './store.ts';
import { createTable, updateTable } from './tables.ts';

export type DeclaredTable = z.output<typeof declaredTable>;

/** Without renamed columns, which every table has; indexes are not part of svc.yaml. */
export async function exportTables(ctx: AppCtx): Promise<z.output<typeof AppSchema>> {
  const definitions = await listTableDefinitions(ctx.db, appRef(ctx));
  const roles = new Set<string>();
  const tables = definitions.map(({ name, description, owner_column, columns, access }) => {
    const rules = access as TableRules;
    for (const role of rolesOfRules(rules)) roles.add(role);
    const table: z.output<typeof AppSchema>['tables'][string] = {
      ...(description && { description }),
      ...(owner_column && { owner_column }),
      columns: columns.map(shortColumn),
      access: presetOf(rules) ?? rulesOnly(rules),
    };
    return [name, table] as const;
  });
  return { roles: [...roles].sort(), tables: Object.fromEntries(tables) };
}

/** As text, unless the text would be read as another column. */
function shortColumn(spec: ColumnSpec): string | ColumnSpec {
  const text = columnSpecText(spec);
  return isDeepEqual(parseColumnSpec(text), spec) ? text : spec;
}

const rulesOnly = ({ columns, ...lists }: TableRules) => ({
  ...lists,
  ...(Object.keys(columns).length > 0 && { columns }),
});

interface Applied {
  created: string[];
  columns: string[];
  rules: string[];
  changed: boolean;
}

export async function applyTables(
  ctx: AppMutationCtx,
  { tables }: z.output<typeof shape.body>,
): Promise<Applied> {
  const applied: Applied = { created: [], columns: [], rules: [], changed: false };
  const ordered = inReferenceOrder(Object.entries(tables).map(([name, table]) => ({ ...table, name })));
  for (const { table, later } of ordered) {
    const row = await findTableRow(ctx.db, appRef(ctx), table.name);
    const columns = table.columns?.filter((column) => !later.has(column));
    if (row) await changeTable(ctx, row, { ...table, columns }, applied);
    else await createDeclared(ctx, table.name, { ...table, columns }, applied);
  }
  // Of tables that refer to each other.
  for (const { table, later } of ordered) {
    const row = later.size > 0 ? await findTableRow(ctx.db, appRef(ctx), table.name) : undefined;
    const columns = table.columns?.filter((column) => later.has(column));
    if (row) await changeTable(ctx, row, { columns }, applied);
  }
  return applied;
}

async function createDeclared(
  ctx: AppMutationCtx,
  name: string,
  { description = '', owner_column, columns = [], access }: DeclaredTable,
  applied: Applied,
): Promise<void> {
  await createTable(ctx, { name, description, owner_column: owner_column ?? null, columns, access });
  applied.created.push(name);
  applied.changed = true;
}

async function changeTable(
  ctx: AppMutationCtx,
  row: TableRow,
  { description, owner_column, columns = [], access }: DeclaredTable,
  applied: Applied,
): Promise<void> {
  const { name } = row;
  const owner = row.columns.find(({ number }) => number === row.owner_column)?.name ?? null;
  if (owner_column !== undefined && owner_column !== owner)
    throw fail('immutable_field', {
      detail: `Table ${name} ${owner === null ? 'has no owner column' : `has the owner column ${owner}`}, which cannot change.`,
    });
  for (const column of columns) {
    const found = row.columns.find((each) => each.name === column.name);
    if (found) checkColumn(ctx, name, columnSpec(found), column);
    else {
      await addColumn(ctx, { table: row.id, column });
      // The waiting time of the lock that the column needed is not for what follows.
      for (const tx of new Set([await ctx.rows.tx(), ctx.db])) await resetTimeouts(tx);
      applied.columns.push(`${name}.${column.name}`);
      applied.changed = true;
    }
  }
  if (description !== undefined && description !== row.description) {
    await updateTable(ctx, { table: row.id, set: { description } });
    applied.changed = true;
  }
  if (access === undefined) return;
  const { columns: stored } = (await findTableRow(ctx.db, appRef(ctx), row.id)) ?? row;
  const rules = newTableRules(stored, { access, owner_column: owner });
  if (isDeepEqual(rules, row.rules)) return;
  await setTableAccess(ctx, { table: row.id, set: rules });
  applied.rules.push(name);
  applied.changed = true;
}

function checkColumn(ctx: AppMutationCtx, table: string, stored: ColumnSpec, declared: ColumnSpec): void {
  if (stored.type !== declared.type)
    throw validationError(
      `tables.${table}.columns`,
      `${declared.name} has the type ${stored.type}, which cannot change to ${declared.type}`,
    );
  if (stored.on_delete !== declared.on_delete)
    ctx.warn(`${table}.${declared.name} keeps on_delete ${stored.on_delete}.`);
  if (stored.nullable !== declared.nullable)
    ctx.warn(`${table}.${declared.name} stays ${stored.nullable ? 'nullable' : 'not nullable'}.`);
}
