import { sqlState } from '../../core/db.ts';
import { fail, validationError } from '../../core/problem.ts';
import { aggregateSql, zoneSql } from './aggregate-sql.ts';
import type { RowsCtx } from './context.ts';
import { keyCharsMax } from './cursor.ts';
import type { PageFormat } from './formats.ts';
import { parseQuery } from './parse-query.ts';
import { type AggregatePlan, planAggregate } from './plan-aggregate.ts';
import { pageResponse, readPage } from './read-page.ts';
import { canRelate, createOutput, hasColumnIn } from './row-table.ts';
import { searchedTable } from './search-sql.ts';

export async function aggregateRows(ctx: RowsCtx, format: PageFormat = 'json') {
  const query = parseQuery(ctx.search, 'aggregate', hasColumnIn(ctx.table), canRelate(ctx.table));
  if (query.isRelated)
    throw fail('validation_failed', {
      detail: 'Groups have the rows of one table. Remove related rows from filters and sort.',
    });
  const plan = planAggregate(await searchedTable(ctx, ctx.table, query), query, ctx.cursors.read);
  await requireKnownZones(ctx, plan);
  const page = await readPage(ctx, plan.groups, aggregateSql(plan), format).catch((error: unknown) => {
    if (sqlState(error) === '22003') throw validationError('select', 'has a sum beyond the range of numbers');
    throw error;
  });
  const columns = [...new Set(plan.items.flatMap(({ of }) => of ?? []))];
  const output = createOutput(columns.map((column) => ({ column, key: column.name })));
  ctx.recordRead({ action: 'read', table: plan.source, output, rows: page.rows });
  // There is no row to read a long key from: page numbers still work.
  const hasCursor = page.hasMore && page.lastKeys.every((key) => (key?.length ?? 0) <= keyCharsMax);
  const cursor = hasCursor ? ctx.cursors.write(plan.groups, page.lastKeys) : null;
  return pageResponse({ path: `${ctx.path}/_aggregate`, search: ctx.search }, page, { query, cursor });
}

/** MySQL converts a time to null if the names of time zones are not loaded: all rows would be in one group. */
async function requireKnownZones(ctx: RowsCtx, { items }: AggregatePlan): Promise<void> {
  if (ctx.table.catalogue.foreign?.kind !== 'mysql') return;
  for (const { item } of items) {
    if (item.kind !== 'period' || item.zone === null) continue;
    const { text, values } = zoneSql(ctx.table, item.zone);
    const { rows } = await ctx.rowDb.run('read', text, values);
    if (rows[0]?.[0] == null)
      throw validationError('select', `the data source does not know the time zone ${item.zone}`);
  }
}
