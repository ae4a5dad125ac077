import { tablesPerAppMax } from '@svc/contract/columns.ts';
import type { createTable as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { confirmApp } from '../apps/confirm-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { appTag, tableTag } from './catalogue.ts';
import { createTableSql } from './ddl.ts';
import { draftColumns } from './draft-columns.ts';
import { placeOf } from './lock-table.ts';
import { auditedTable, ownerRefusal, refuseArchived, tableRecord, withOwnColumns } from './rules.ts';
import { runStatements } from './run-statements.ts';
import {
  type ColumnRow,
  countTables,
  findTableRow,
  insertTableRow,
  lockTablesOf,
  type TableRow,
} from './store.ts';

export async function createTable(ctx: AppMutationCtx, input: z.output<typeof shape.body>) {
  await lockTablesOf(ctx.db, ctx.app.id);
  refuseArchived(await confirmApp(ctx, { wanted: 'owners' }));
  const declared = draftColumns(input.columns);
  const columns = withOwnColumns(declared).map((column, at) => ({ number: at + 1, ...column }));
  await refuseTaken(ctx, input.name);
  const row: TableRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    app_id: ctx.app.id,
    name: input.name,
    description: input.description,
    owner_column: ownerNumber(columns, input),
    version: 1,
    columns_made: columns.length,
    attributes_made: columns.length,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_at: ctx.now,
    columns,
    indexes: [],
  };
  await insertTableRow(ctx.db, row);
  await runStatements(await ctx.rows.tx(), createTableSql(row, ctx.rows.role));
  ctx.audit({
    action: 'tables.create',
    appId: ctx.app.id,
    target: { kind: 'table', id: row.id, name: row.name },
    before: null,
    after: auditedTable(row),
  });
  ctx.changed(appTag(ctx.app.id));
  ctx.changed(tableTag(row.id));
  return tableRecord(row);
}

async function refuseTaken(ctx: AppMutationCtx, name: string): Promise<void> {
  if (await findTableRow(ctx.db, placeOf(ctx), name)) {
    throw fail('unique_violation', { detail: `A table ${name} exists already.` });
  }
  if ((await countTables(ctx.db, placeOf(ctx))) >= tablesPerAppMax) {
    throw fail('limit_reached', { detail: `An app has at most ${tablesPerAppMax} tables.` });
  }
}

/** One that was declared: what the service fills in by itself owns no row. */
function ownerNumber(
  columns: readonly ColumnRow[],
  input: Pick<z.output<typeof shape.body>, 'owner_column'>,
): number | null {
  if (input.owner_column === null) return null;
  const column = columns.find((it) => it.name === input.owner_column);
  const refusal = ownerRefusal(column);
  if (refusal !== null) throw invalid('owner_column', refusal);
  return column?.number ?? null;
}
