import { fail } from '../../core/problem.ts';
import { jsonResponse, type RowsCtx } from './context.ts';
import { CsvRows, csvHeader, csvHeaders, noteHeaders, type PageFormat } from './formats.ts';
import { JsonRows, readValues } from './json-rows.ts';
import type { ParsedQuery } from './parse-query.ts';
import type { ListPlan } from './plan.ts';
import type { Statement } from './sql.ts';

const comma = 0x2c;
const pageBytesMax = 32 * 1024 * 1024;
const pageTooLarge = fail('payload_too_large', {
  detail: `The page is larger than ${pageBytesMax} bytes. Request fewer rows with per_page.`,
});

/** Reads one row more than the page, for `has_more`. */
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
  await ctx.rowDb.run('read', text, values, () => {
    rows = 0;
    page.end = 0;
    page.text(isJson ? '{"data":[' : csvHeader(plan.output));
    return addRow;
  });
  return {
    page,
    plan,
    isJson,
    lastKeys,
    rows: Math.min(rows, plan.perPage),
    hasMore: rows > plan.perPage,
    /** The matches that were ranked. */
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
