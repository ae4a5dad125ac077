import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { parseText } from '../tables/values.ts';
import { emptyResponse, jsonResponse, type RowsCtx } from './context.ts';
import { JsonRows, readValues } from './json-rows.ts';
import { type ParsedQuery, parseQuery } from './parse-query.ts';
import { type PlannedCondition, planSelect, whereOwnRows } from './plan.ts';
import type { Output, RowTable } from './row-table.ts';
import { oneSql, type Statement } from './sql.ts';

export async function getRow(ctx: RowsCtx, id: string) {
  const { select } = parseQuery(ctx.search, 'one');
  const output = planSelect(ctx.table, select);
  const row = await queryRow(
    queryIn(ctx, 'point'),
    oneSql(ctx.table, output, whereRowId(ctx, id)),
    output,
    1,
  );
  if (!row) throw fail('not_found');
  const etag = rowEtag(ctx.table, row.rest[0] ?? '', select);
  if (isNotModified(ctx.request.headers.get('if-none-match'), etag)) return emptyResponse(304, { etag });
  return jsonResponse(200, row.json, { etag });
}

export function whereRowId(ctx: RowsCtx, id: string): PlannedCondition[] {
  const { idColumn } = ctx.table.catalogue;
  const value = parseText(idColumn.type, id);
  if (!value.ok) throw fail('not_found');
  return [
    { kind: 'test', negated: false, column: idColumn, op: 'eq', value: value.value },
    ...whereOwnRows(ctx.table, ctx.access.ownRowsOf),
  ];
}

export interface ReturnedRow {
  json: Uint8Array;
  rest: (string | null)[];
}

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
  await run(text, values, (bytes, start) => {
    const row = new JsonRows(1024);
    const end = row.row(output.shape, bytes, start);
    returned = { json: row.written(), rest: readValues(bytes, end, restCount) };
  });
  return returned;
}

export function queryIn({ rowDb }: RowsCtx, queue: 'point' | 'write'): RunQuery {
  return (text, values, onRow) => rowDb.run(queue, text, values, () => onRow);
}

export function parseReturnedRow(row: ReturnedRow | null): Record<string, unknown> {
  return JSON.parse(row ? Buffer.from(row.json).toString('utf8') : '{}');
}

/** Row version, table version and selected columns: the representation changes with each of them. */
export function rowEtag(table: RowTable, version: string, select: ParsedQuery['select'] = null): string {
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
