import { type RawBuilder, sql } from 'kysely';
import type { AppMutationCtx } from '../plumbing/context.ts';
import type { Tx } from '../plumbing/db.ts';
import { appTag, tableTag } from './catalogue.ts';
import { dropTableSql, physicalTable } from './ddl.ts';
import { listTableGrantRows, type TableGrantRow } from './grants-store.ts';
import { lockTable } from './lock-table.ts';
import { auditedTable } from './rules.ts';
import { runStatements } from './run-statements.ts';
import { deleteTableRow } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

/** Its grants go with it: a table that bears the name later begins with none. What is lost stands in the plan. */
export async function dropTable(ctx: AppMutationCtx, input: { table: string }): Promise<undefined> {
  const row = await lockTable(ctx, input.table);
  const grants = await listTableGrantRows(ctx.db, ctx.tenant.id, row.id);
  await deleteTableRow(ctx.db, ctx.tenant.id, row.id);
  ctx.changed(appTag(ctx.app.id));
  ctx.changed(tableTag(row.id));
  await withTableLock(ctx, { table: physicalTable(row), lockOut: 'everyone' }, []);
  const tx = await ctx.rows.tx();
  ctx.audit({
    action: 'tables.drop',
    appId: ctx.app.id,
    target: { kind: 'table', id: row.id, name: row.name },
    before: {
      ...auditedTable(row),
      ...(grants.length > 0 ? { grants: grants.map(grantText) } : {}),
      rows: await rowsLost(tx, physicalTable(row)),
    },
    after: null,
  });
  await runStatements(tx, dropTableSql(row));
}

const grantText = ({ principal_type, principal_id, actions }: TableGrantRow) =>
  `${principal_type} ${principal_id}: ${actions.join(', ')}`;

const countedMax = 10_000;
/** What is read while nobody else may: of a larger table the planner's estimate is told. */
const countedBytesMax = 32 * 1024 * 1024;

async function rowsLost(tx: Tx, table: string): Promise<number | string> {
  const name = sql.lit(table);
  const facts = await first(
    tx,
    sql<{
      bytes: number;
      estimate: number;
    }>`select pg_relation_size(oid)::float8 as bytes, reltuples::float8 as estimate
      from pg_class where oid = to_regclass(${name})`,
  );
  // Gone on the other server by a change that failed on this one.
  if (!facts) return 0;
  if (facts.bytes > countedBytesMax) return facts.estimate > 0 ? `about ${facts.estimate}` : 'many';
  const counted = await first(
    tx,
    sql<{
      rows: number;
    }>`select count(*)::int as rows from (select from ${sql.raw(table)} limit ${countedMax + 1}) as counted`,
  );
  const rows = counted?.rows ?? 0;
  return rows > countedMax ? `at least ${countedMax}` : rows;
}

async function first<T>(tx: Tx, query: RawBuilder<T>): Promise<T | undefined> {
  return (await query.execute(tx)).rows[0];
}
