import { type CountMode, countCap } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import { equals, type PlannedCondition } from '../tables/conditions.ts';
import { jsonResponse, type RowsCtx } from './context.ts';
import { JsonRows, readValues } from './json-rows.ts';
import { parseQuery } from './parse-query.ts';
import { type AfterKey, planList, planSelect, planWhere } from './plan.ts';
import { createOutput, isWhole, requireColumn } from './row-table.ts';
import { cappedCountSql, countSql, estimateSql, listSql, oneSql, type Statement } from './sql.ts';

const comma = 0x2c;
const nothing = createOutput([]);
const pageBytesMax = 32 * 1024 * 1024;
const pageTooLarge = fail('payload_too_large', {
  detail: `The page is larger than ${pageBytesMax} bytes. Request fewer rows with per_page.`,
});

export async function listRows(ctx: RowsCtx) {
  const query = parseQuery(ctx.search, 'list');
  const plan = planList(ctx.table, query, (token, sort) => ctx.cursors.read(ctx.table, token, sort));
  const { text, values } = listSql(plan);
  const page = new JsonRows(8 * 1024);
  let rows = 0;
  let lastKeys: (string | null)[] = [];
  const addRow = (bytes: Buffer, start: number) => {
    rows++;
    if (rows > plan.perPage) return;
    if (page.end > pageBytesMax) throw pageTooLarge;
    if (rows > 1) page.byte(comma);
    const end = page.row(plan.output.shape, bytes, start);
    if (rows === plan.perPage) lastKeys = readValues(bytes, end, plan.sort.length);
  };
  await ctx.rowDb.run('read', text, values, () => {
    rows = 0;
    page.end = 0;
    page.text('{"data":[');
    return addRow;
  });
  if (rows === 0 && plan.after) await requireCursorRow(ctx, plan.after);
  const hasMore = rows > plan.perPage;
  const { table, output, perPage } = plan;
  ctx.recordRead({ action: 'read', table, output, rows: Math.min(rows, perPage) });
  // Without a primary key, equal rows could not be told apart.
  const hasCursor = hasMore && ctx.table.catalogue.foreign?.keys.length !== 0;
  const cursor = hasCursor ? `"${ctx.cursors.write(plan, lastKeys)}"` : 'null';
  page.text(
    `],"page":${plan.page},"per_page":${plan.perPage},"has_more":${hasMore},"next_cursor":${cursor}}`,
  );
  return jsonResponse(200, page.written());
}

/** The cursor's keys are read from a row that may be gone for the caller: an empty page would then look like the end. */
async function requireCursorRow(ctx: RowsCtx, after: readonly AfterKey[]): Promise<void> {
  for (const key of after) {
    if (typeof key !== 'object' || key === null) continue;
    const row = [equals(ctx.table.key, key.rowId)];
    const { text, values } = oneSql(ctx.table, createOutput([]), row);
    const { rows } = await ctx.rowDb.run('point', text, values);
    if (rows.length === 0)
      throw fail('invalid_cursor', { detail: 'The row that the cursor points to is no longer there.' });
    return;
  }
}

export async function countRows(ctx: RowsCtx) {
  const query = parseQuery(ctx.search, 'count');
  planSelect(ctx.table, query.select);
  for (const { column } of query.sort) requireColumn(ctx.table, column);
  const planned = planWhere(ctx.table, query.where);
  const count = await countBy(query.count ?? 'exact', ctx, planned);
  ctx.recordRead({ action: 'read', table: ctx.table, output: nothing, rows: 0 });
  return jsonResponse(
    200,
    query.count === null ? `{"count":${count}}` : `{"count":${count},"mode":"${query.count}"}`,
  );
}

async function queryCount(ctx: RowsCtx, { text, values }: Statement): Promise<number> {
  const { rows } = await ctx.rowDb.run('read', text, values);
  return Number(rows[0]?.[0] ?? 0);
}

async function countBy(mode: CountMode, ctx: RowsCtx, planned: readonly PlannedCondition[]): Promise<number> {
  if (mode === 'exact') return queryCount(ctx, countSql(ctx.table, planned));
  const capped = await queryCount(ctx, cappedCountSql(ctx.table, planned));
  if (mode === 'capped') return Math.min(capped, countCap);
  if (capped <= countCap) return capped;
  // Statistics cover all rows and columns, so callers who do not see them all get an exact count.
  if (!isWhole(ctx.table) || ctx.table.catalogue.foreign) {
    return queryCount(ctx, countSql(ctx.table, planned));
  }
  const { text, values } = estimateSql(ctx.table, planned);
  const { rows } = await ctx.rowDb.run('read', text, values);
  const [explained] = JSON.parse(rows[0]?.[0] ?? '[]');
  const expected: unknown = explained?.Plan?.['Plan Rows'];
  return Math.max(countCap + 1, typeof expected === 'number' ? Math.round(expected) : 0);
}
