import { type CountMode, countCap } from '@svc/contract/rows.ts';
import { rankedMatchesMax } from '@svc/contract/search.ts';
import { fail, validationError } from '../../core/problem.ts';
import { equals, type PlannedCondition } from '../tables/conditions.ts';
import { jsonResponse, type RowsCtx } from './context.ts';
import {
  CsvRows,
  csvHeader,
  csvHeaders,
  JsonRows,
  noteHeaders,
  type PageFormat,
  readValues,
} from './formats.ts';
import { recordRelated } from './governed-read.ts';
import { type ParsedQuery, parseQuery } from './parse-query.ts';
import { type AfterKey, type ListPlan, planDistinct, planList, planSelect, planWhere } from './plan.ts';
import { planRelated, type RelatedPlan } from './plan-related.ts';
import { relatedListSql } from './related-sql.ts';
import { reopen } from './relations.ts';
import { withColumnName } from './row-errors.ts';
import { canRelate, createOutput, hasColumnIn, isWhole, type RowTable, requireColumn } from './row-table.ts';
import { withSearchedColumns } from './search.ts';
import { rankedNote, searchedTable, searchSql } from './search-sql.ts';
import { cappedCountSql, countSql, estimateSql, listSql, oneSql, type Statement } from './sql.ts';

const comma = 0x2c;
const pageBytesMax = 32 * 1024 * 1024;
const pageTooLarge = fail('payload_too_large', {
  detail: `The page is larger than ${pageBytesMax} bytes. Request fewer rows with per_page.`,
});

export async function readPage(
  ctx: Pick<RowsCtx, 'rowDb'>,
  plan: ListPlan,
  { text, values }: Statement,
  format: PageFormat,
) {
  const isJson = format === 'json';
  const page = isJson ? new JsonRows(8 * 1024) : new CsvRows(8 * 1024);
  let rows = 0;
  let lastKeys: (string | null)[] = [];
  let found = 0;
  const addRow = (bytes: Buffer, start: number) => {
    rows++;
    if (rows > plan.perPage) return;
    if (page.end > pageBytesMax) throw pageTooLarge;
    if (rows > 1 && isJson) page.byte(comma);
    const end = page.row(plan.output.shape, bytes, start);
    if (rows === 1 && plan.table.search?.isRanked)
      found = Number(readValues(bytes, end, plan.sort.length + 1).at(-1));
    if (rows === plan.perPage) lastKeys = readValues(bytes, end, plan.sort.length);
  };
  const start = () => {
    rows = 0;
    page.end = 0;
    page.text(isJson ? '{"data":[' : csvHeader(plan.output));
    return addRow;
  };
  try {
    await ctx.rowDb.run('read', text, values, start);
  } catch (error) {
    throw withColumnName(error, plan.output);
  }
  return {
    page,
    plan,
    isJson,
    lastKeys,
    rows: Math.min(rows, plan.perPage),
    hasMore: rows > plan.perPage,
    found,
  };
}

export function pageResponse(
  { path, search }: Pick<RowsCtx, 'path' | 'search'>,
  { page, plan, isJson, hasMore }: Awaited<ReturnType<typeof readPage>>,
  { query, cursor }: { query: ParsedQuery; cursor: string | null },
) {
  if (!isJson) {
    const headers: Record<string, string> = { ...noteHeaders(query), ...csvHeaders };
    if (cursor !== null) headers.link = nextLink(path, search, cursor);
    return jsonResponse(200, page.written(), headers);
  }
  const next = cursor === null ? 'null' : `"${cursor}"`;
  page.text(`],"page":${plan.page},"per_page":${plan.perPage},"has_more":${hasMore},"next_cursor":${next}}`);
  return jsonResponse(200, page.written(), noteHeaders(query));
}

/** RFC 8288: a page of CSV has no place for its cursor. */
function nextLink(path: string, search: string, cursor: string): string {
  const pairs = search.split('&').filter((pair) => pair !== '' && !/^(?:page|cursor)=/.test(pair));
  return `<${path}?${[...pairs, `cursor=${cursor}`].join('&')}>; rel="next"`;
}

const nothing = createOutput([]);

interface PlannedList {
  query: ParsedQuery;
  plan: ListPlan;
  related: RelatedPlan | null;
  statement: Statement;
}

async function planPage(ctx: RowsCtx): Promise<PlannedList> {
  const query = parseQuery(ctx.search, 'list', hasColumnIn(ctx.table), canRelate(ctx.table));
  refuseSearchOfRelated(query);
  if (query.isRelated) {
    const related = await planRelated(ctx, query, ctx.cursors.read);
    return { query, plan: related, related, statement: relatedListSql(related) };
  }
  const table = await searchedTable(ctx, ctx.table, query, { isPage: true });
  const plan = planList(table, query, (token, sort) => ctx.cursors.read(ctx.table, token, sort));
  return { query, plan, related: null, statement: pageSql(plan) };
}

const known = new Map<string, PlannedList & { table: RowTable }>();
const knownMax = 1_000;
const knownCharsMax = 1_000;

/** A new decision about access makes a new table. */
async function knownPage(ctx: RowsCtx): Promise<PlannedList> {
  const { table } = ctx;
  const key = `${ctx.caller.credentialId} ${table.catalogue.id} ${ctx.search}`;
  const found = known.get(key);
  if (found?.table === table) {
    const opened = found.related && (await reopen(ctx, found.related));
    if (!found.related) return found;
    if (opened) return { ...found, related: { ...found.related, opened } };
  }
  const planned = await planPage(ctx);
  const { query } = planned;
  // A cursor expires, and words are searched for in forms that are looked up.
  if (query.cursor !== null || query.search !== null || key.length > knownCharsMax) return planned;
  if (known.size >= knownMax) known.clear();
  known.set(key, { ...planned, table });
  return planned;
}

export async function listRows(ctx: RowsCtx, format: PageFormat = 'json') {
  const { query, plan, related, statement } = await knownPage(ctx);
  const page = await readPage(ctx, plan, statement, format);
  if (page.found > rankedMatchesMax) query.notes.push(rankedNote);
  if (page.rows === 0 && plan.after) await requireCursorRow(ctx, plan.after);
  const { table, output } = plan;
  if (related)
    recordRelated(ctx, related, page.rows, () =>
      page.isJson ? JSON.parse(`${page.page.written().toString('utf8')}]}`).data : [],
    );
  else ctx.recordRead({ action: 'read', table, output: withSearchedColumns(table, output), rows: page.rows });
  // Without a primary key, equal rows cannot be distinguished.
  const hasCursor = page.hasMore && ctx.table.catalogue.foreign?.keys.length !== 0;
  return pageResponse(ctx, page, {
    query,
    cursor: hasCursor ? ctx.cursors.write(plan, page.lastKeys) : null,
  });
}

/** The cursor's keys are read from a row that may be gone for the caller: an empty page would then look like the end. */
const pageSql = (plan: ListPlan) => (plan.table.search ? searchSql(plan) : listSql(plan));

function refuseSearchOfRelated({ search, isRelated }: ParsedQuery): void {
  if (search !== null && isRelated)
    throw validationError('search', 'cannot be combined with related rows in select, filters or sort');
}

async function requireCursorRow(ctx: RowsCtx, after: readonly AfterKey[]): Promise<void> {
  for (const key of after) {
    if (typeof key !== 'object' || key === null) continue;
    const row = [equals(ctx.table.order, key.rowId)];
    const { text, values } = oneSql(ctx.table, createOutput([]), row);
    const { rows } = await ctx.rowDb.run('point', text, values);
    if (rows.length === 0)
      throw fail('invalid_cursor', { detail: 'The row that the cursor points to is no longer there.' });
    return;
  }
}

export async function countRows(ctx: RowsCtx) {
  const query = parseQuery(ctx.search, 'count', hasColumnIn(ctx.table), canRelate(ctx.table));
  refuseSearchOfRelated(query);
  const planned = query.isRelated ? await planRelated(ctx, query, () => []) : planCount(ctx.table, query);
  const table = await searchedTable(ctx, planned.table, query);
  const count = await countBy(
    query.count ?? 'exact',
    { table, rowDb: ctx.rowDb },
    planned.where,
    planned.distinct,
  );
  ctx.recordRead({ action: 'read', table: ctx.table, output: nothing, rows: 0 });
  return jsonResponse(
    200,
    query.count === null ? `{"count":${count}}` : `{"count":${count},"mode":"${query.count}"}`,
    noteHeaders(query),
  );
}

function planCount(table: RowTable, query: ParsedQuery): Pick<ListPlan, 'table' | 'where' | 'distinct'> {
  planSelect(table, query.select);
  for (const { column } of query.sort) requireColumn(table, column);
  return { table, where: planWhere(table, query.where), distinct: planDistinct(table, query.distinct) };
}

async function queryCount(ctx: Pick<RowsCtx, 'rowDb'>, { text, values }: Statement): Promise<number> {
  const { rows } = await ctx.rowDb.run('read', text, values);
  return Number(rows[0]?.[0] ?? 0);
}

const isRelatedTest = (condition: PlannedCondition): boolean =>
  condition.kind === 'test' ? condition.op === 'related' : condition.parts.some(isRelatedTest);

async function countBy(
  mode: CountMode,
  ctx: Pick<RowsCtx, 'table' | 'rowDb'>,
  planned: readonly PlannedCondition[],
  distinct: ListPlan['distinct'],
): Promise<number> {
  if (mode === 'exact') return queryCount(ctx, countSql(ctx.table, planned, distinct));
  const capped = await queryCount(ctx, cappedCountSql(ctx.table, planned, distinct));
  if (mode === 'capped') return Math.min(capped, countCap);
  if (capped <= countCap) return capped;
  // Statistics cover all rows and columns, so callers who do not see them all get an exact count.
  if (!isWhole(ctx.table) || ctx.table.joins || ctx.table.catalogue.foreign || planned.some(isRelatedTest)) {
    return queryCount(ctx, countSql(ctx.table, planned, distinct));
  }
  const { text, values } = estimateSql(ctx.table, planned, distinct);
  const { rows } = await ctx.rowDb.run('read', text, values);
  const [explained] = JSON.parse(rows[0]?.[0] ?? '[]');
  const expected: unknown = explained?.Plan?.['Plan Rows'];
  return Math.max(countCap + 1, typeof expected === 'number' ? Math.round(expected) : 0);
}
