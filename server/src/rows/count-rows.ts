import { countCap } from '@svc/contract/rows.ts';
import { jsonAnswer, type RowsCtx } from './context.ts';
import { parseQuery } from './parse-query.ts';
import { type PlannedCondition, planSelect, planWhere } from './plan.ts';
import { columnNamed } from './row-table.ts';
import { cappedCountSql, countSql, estimateSql, type Statement } from './sql.ts';

export async function countRows(ctx: RowsCtx) {
  const query = parseQuery(ctx.search, 'count');
  // They change no count, but a name that is wrong in a list is wrong here.
  planSelect(ctx.table, query.select);
  for (const { column } of query.sort) columnNamed(ctx.table, column);
  const planned = planWhere(ctx.table, ctx.access.ownRowsOf, query.where);
  switch (query.count ?? 'exact') {
    case 'exact': {
      const count = await counted(ctx, countSql(ctx.table, planned));
      return jsonAnswer(
        200,
        query.count === null ? `{"count":${count}}` : `{"count":${count},"mode":"exact"}`,
      );
    }
    case 'capped': {
      const count = Math.min(await counted(ctx, cappedCountSql(ctx.table, planned)), countCap);
      return jsonAnswer(200, `{"count":${count},"mode":"capped"}`);
    }
    case 'estimated':
      return jsonAnswer(200, `{"count":${await estimated(ctx, planned)},"mode":"estimated"}`);
  }
}

async function counted(ctx: RowsCtx, { text, values }: Statement): Promise<number> {
  const { rows } = await ctx.rowDb.run('read', text, values);
  return Number(rows[0]?.[0] ?? 0);
}

/** Few are counted; of many the database's own expectation is good enough. */
async function estimated(ctx: RowsCtx, planned: readonly PlannedCondition[]): Promise<number> {
  const few = await counted(ctx, cappedCountSql(ctx.table, planned));
  if (few <= countCap) return few;
  // Statistics are about all rows: whoever sees only their own is not told them.
  if (ctx.access.ownRowsOf !== null && ctx.table.catalogue.owner) {
    return counted(ctx, countSql(ctx.table, planned));
  }
  const { text, values } = estimateSql(ctx.table, planned);
  const { rows } = await ctx.rowDb.run('read', text, values);
  const [explained] = JSON.parse(rows[0]?.[0] ?? '[]');
  const expected: unknown = explained?.Plan?.['Plan Rows'];
  return Math.max(countCap + 1, typeof expected === 'number' ? Math.round(expected) : 0);
}
