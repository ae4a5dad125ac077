import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { StatementKind } from '../../drivers/row-database/row-pool.ts';
import type { ForeignSource } from '../tables/catalogue.ts';
import { type EqualityTest, equals } from '../tables/conditions.ts';
import { parseColumnText, parseText } from '../tables/values.ts';
import { emptyResponse, jsonResponse, type RowsCtx } from './context.ts';
import { JsonRows, readValues } from './formats.ts';
import { recordRelated } from './governed-read.ts';
import { type ParsedQuery, parseQuery, unknownParameterError } from './parse-query.ts';
import { planSelect } from './plan.ts';
import { planRelated } from './plan-related.ts';
import { relatedRowSql } from './related-sql.ts';
import { withColumnName } from './row-errors.ts';
import { canRelate, type Output, type RowTable } from './row-table.ts';
import { etagColumns, oneSql, rowByKeySql, type Statement } from './sql.ts';

export async function getRow(ctx: RowsCtx, id: string) {
  const query = ctx.search === '' ? null : parseQuery(ctx.search, 'one', undefined, canRelate(ctx.table));
  if (query?.isRelated) return getRelatedRow(ctx, id, query);
  const select = query?.select ?? null;
  const output = planSelect(ctx.table, select);
  const key = whereRowId(ctx, id);
  const more = etagColumns(ctx.table);
  const statement = select === null ? rowByKeySql(ctx.table, key) : oneSql(ctx.table, output, key, more);
  const row = await queryRow(queryIn(ctx, 'point'), statement, output, more.length);
  if (!row) throw fail('not_found');
  ctx.recordRead({ action: 'read', table: ctx.table, output, rows: 1 });
  const etag = rowEtag(ctx.table, row, row.rest[0] ?? '', select);
  if (isNotModified(ctx.request.headers.get('if-none-match'), etag)) return emptyResponse(304, { etag });
  return jsonResponse(200, row.json, { etag });
}

/** The representation depends on other rows too, so that its hash is the ETag. */
async function getRelatedRow(ctx: RowsCtx, id: string, query: ParsedQuery) {
  const plan = await planRelated(ctx, query, () => []);
  const [parameter] = query.related;
  if (plan.where.some(({ kind, ...test }) => kind !== 'test' || !('op' in test) || test.op !== 'related'))
    throw unknownParameterError(parameter?.name ?? 'select');
  const statement = relatedRowSql(plan, whereRowId(ctx, id));
  const row = await queryRow(queryIn(ctx, 'point'), statement, plan.output, 1);
  if (!row) throw fail('not_found');
  recordRelated(ctx, plan, 1, () => [parseReturnedRow(row)]);
  const etag = `"${sha256(row.json).slice(0, 32)}"`;
  if (isNotModified(ctx.request.headers.get('if-none-match'), etag)) return emptyResponse(304, { etag });
  return jsonResponse(200, row.json, { etag });
}

export function whereRowId({ table }: Pick<RowsCtx, 'table'>, id: string): EqualityTest[] {
  const { key } = table;
  if (table.catalogue.foreign) return whereForeignKey(table, table.catalogue.foreign, id);
  const value = parseText(key.type, id);
  if (!value.ok || key.name === '') throw fail('not_found');
  return [equals(key, value.value)];
}

/** The parts of a composite key are separated by commas; a comma within a part is written `%2C`. */
function whereForeignKey(table: RowTable, { keys }: ForeignSource, id: string): EqualityTest[] {
  const parts = keys.length === 1 ? [id] : id.split(',').map(decodeKeyPart);
  if (keys.length === 0 || parts.length !== keys.length) throw fail('not_found');
  return keys.map((key, at) => {
    const value = parseColumnText(key, parts[at] ?? '');
    // A masked or hidden key does not say which row is meant.
    if (!value.ok || table.byName.get(key.name) !== key) throw fail('not_found');
    return equals(key, value.value);
  });
}

const decodeKeyPart = (part: string) => part.replace(/%2C/gi, ',').replace(/%25/g, '%');

export interface ReturnedRow {
  json: Uint8Array;
  rest: (string | null)[];
}

/** Shared by all reads: `take` gives each row its own part. */
const rows = new JsonRows(64 * 1024);

export type RunQuery = (
  text: string,
  values: Statement['values'],
  onRow: (bytes: Buffer, start: number) => void,
) => Promise<unknown>;

export async function queryRow(
  run: RunQuery,
  { text, values }: Statement,
  output: Output,
  restCount: number,
): Promise<ReturnedRow | null> {
  let returned: ReturnedRow | null = null;
  try {
    await run(text, values, (bytes, start) => {
      // A row that failed may have left its beginning.
      rows.end = 0;
      const end = rows.row(output.shape, bytes, start);
      returned = { json: rows.take(), rest: readValues(bytes, end, restCount) };
    });
  } catch (error) {
    throw withColumnName(error, output);
  }
  return returned;
}

export function queryIn({ rowDb }: RowsCtx, kind: Exclude<StatementKind, 'read'>): RunQuery {
  return (text, values, onRow) => rowDb.run(kind, text, values, () => onRow);
}

export function parseReturnedRow(row: ReturnedRow | null): Record<string, unknown> {
  return JSON.parse(row ? Buffer.from(row.json).toString('utf8') : '{}');
}

/** Row and table version, and selected columns. With hidden or masked ones a hash: a version says that a hidden value changed. */
export function rowEtag(
  table: RowTable,
  row: Pick<ReturnedRow, 'json'>,
  version: string,
  select: ParsedQuery['select'] = null,
): string {
  if (table.view.columns !== null || table.catalogue.foreign) return `"${sha256(row.json).slice(0, 32)}"`;
  const shape = select === null ? '' : `.${sha256(JSON.stringify(select)).slice(0, 8)}`;
  return `"${version}.${table.catalogue.version}${shape}"`;
}

/** Null if any version is allowed, empty if none can match (weak or foreign tags). */
export function ifMatchVersions(ifMatch: string | null): readonly string[] | null {
  if (ifMatch === null || ifMatch.trim() === '*') return null;
  return ifMatch.split(',').flatMap((tag) => {
    const version = /^"(\d{1,18})\.[\w.]+"$/.exec(tag.trim())?.[1];
    return version === undefined ? [] : [version];
  });
}

export function isNotModified(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(',').some((tag) => {
    const plain = tag.trim().replace(/^W\//, '');
    return plain === '*' || plain === etag;
  });
}
