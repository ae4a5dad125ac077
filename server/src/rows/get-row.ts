import { fail } from '../plumbing/problem.ts';
import { fromText } from '../tables/values.ts';
import { emptyAnswer, jsonAnswer, type RowsCtx } from './context.ts';
import { isNotModified, rowEtag } from './etag.ts';
import { oneRow, read } from './given-row.ts';
import { parseQuery } from './parse-query.ts';
import { ownRows, type PlannedCondition, planSelect } from './plan.ts';
import { oneSql } from './sql.ts';

export async function getRow(ctx: RowsCtx, id: string) {
  const { select } = parseQuery(ctx.search, 'one');
  const output = planSelect(ctx.table, select);
  const row = await oneRow(read(ctx), oneSql(ctx.table, output, theRow(ctx, id)), output, 1);
  if (!row) throw fail('not_found');
  const etag = rowEtag(ctx.table, row.rest[0] ?? '', select);
  if (isNotModified(ctx.request.headers.get('if-none-match'), etag)) return emptyAnswer(304, { etag });
  return jsonAnswer(200, row.json, { etag });
}

/** By its id, if the caller may see it. An id that can not be one belongs to no row. */
export function theRow(ctx: RowsCtx, id: string): PlannedCondition[] {
  const { idColumn } = ctx.table.catalogue;
  const value = fromText(idColumn.type, id);
  if (!value.ok) throw fail('not_found');
  return [
    { kind: 'test', negated: false, column: idColumn, op: 'eq', value: value.value },
    ...ownRows(ctx.table, ctx.access.ownRowsOf),
  ];
}
