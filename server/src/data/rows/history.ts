import { historyPerPageMax } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { loggedId } from '../tables/change-log.ts';
import { parseText } from '../tables/values.ts';
import { judgedSql, logFrom } from './changes-sql.ts';
import { bindAs, valuesFor } from './condition-sql.ts';
import { jsonResponse, type RowsCtx } from './context.ts';
import { JsonRows, readValues } from './json-rows.ts';
import { parseQuery } from './parse-query.ts';

/** The changes of one row, newest first, as far as the caller sees the row before or after them. */
export async function listHistory(ctx: RowsCtx, id: string): Promise<FastPathResponse> {
  const { historyDays } = ctx.table.catalogue;
  if (historyDays == null) throw historyOffError(ctx, 'history', '--history 30d');
  const { idColumn } = ctx.table.catalogue;
  const value = parseText(idColumn.type, id);
  if (!value.ok || ctx.table.key !== idColumn) throw fail('not_found');
  const entries = await readEntries(ctx, { days: historyDays, id: value.value, isTrash: false });
  if (entries.rows === 0 && entries.page === 1) throw fail('not_found');
  return entries.response;
}

/** Deleted rows that the caller saw before, last deleted first. Rows that were restored are not among them. */
export async function listTrash(ctx: RowsCtx): Promise<FastPathResponse> {
  const { softDeleteDays, idColumn } = ctx.table.catalogue;
  if (softDeleteDays == null) throw historyOffError(ctx, 'trash', '--soft-delete 30d');
  if (ctx.table.key !== idColumn) throw fail('forbidden', { detail: 'You do not see the ids of rows.' });
  return (await readEntries(ctx, { days: softDeleteDays, id: null, isTrash: true })).response;
}

export const historyOffError = ({ app, table }: RowsCtx, what: string, flag: string) =>
  fail('history_off', {
    detail:
      `Table ${table.catalogue.name} has no ${what}. An owner can switch it on: ` +
      `svc tables update ${table.catalogue.name} --app ${app.slug} ${flag} --execute`,
  });

/** Who else works with the rows is for owners to know. */
export const isOwnerOfApp = ({ access }: Pick<RowsCtx, 'access'>) =>
  access.alternatives.some(({ because }) => because.some(({ kind }) => kind === 'owner'));

/** Deleted, and not there again: the last change of the row in the log. */
export const isInTrash = (log: string, { physical }: CatalogueColumn) =>
  `l.new is null and not exists (select from ${log} where ${loggedId(physical)} =` +
  ` (l.old ->> '${physical}') and seq > l.seq)`;

interface EntryFilter {
  days: number;
  id: string | null;
  isTrash: boolean;
}

async function readEntries(ctx: RowsCtx, { days, id, isTrash }: EntryFilter) {
  const query = parseQuery(ctx.search, 'history');
  const page = query.page ?? 1;
  const perPage = Math.min(query.perPage ?? 50, historyPerPageMax);
  const { table } = ctx;
  const output = table.all;
  const values = valuesFor(table);
  const plan = { table, where: [], output };
  const log = logFrom(table);
  const { idColumn } = table.catalogue;
  const conditions = [`l.at > now() - make_interval(days => ${days})`];
  if (id !== null)
    conditions.push(
      `${loggedId(idColumn.physical).replace('new, old', 'l.new, l.old')} = ${bindAs(values, id, 'text')}`,
    );
  if (isTrash) conditions.push(isInTrash(log, idColumn));
  const columns = (row: string) => output.columns.map((_, at) => `${row}.x${at}`);
  const items = [
    ...columns('n'),
    ...columns('o'),
    'l.seq::text',
    `to_char(l.at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    'l.cause',
    '(o.seen is not null)::text',
    '(n.seen is not null)::text',
  ];
  const text =
    `select ${items.join(', ')} from ${log} l` +
    ` left join lateral (${judgedSql(plan, 'old', values)}) o on true` +
    ` left join lateral (${judgedSql(plan, 'new', values)}) n on true` +
    ` where ${conditions.join(' and ')} and (o.seen or n.seen)` +
    ` and (row(${columns('o').join(', ')}) is distinct from row(${columns('n').join(', ')}))` +
    ` order by l.seq desc limit ${perPage + 1} offset ${(page - 1) * perPage}`;
  const isOwner = isOwnerOfApp(ctx);
  let list: string[] = [];
  await ctx.rowDb.run('read', text, values, () => {
    list = [];
    return (bytes, start) => {
      const [after, before] = [new JsonRows(512), new JsonRows(512)];
      const afterEnd = after.row(output.shape, bytes, start);
      const beforeEnd = before.row(output.shape, bytes, afterEnd - 2);
      const [seq, at, cause, was, is] = readValues(bytes, beforeEnd, 5);
      const [by = null, requestId = null] = cause?.split(' ') ?? [];
      const isShown = isOwner || by === ctx.caller.userId;
      const known = JSON.stringify({
        version: isOwner ? seq : ctx.cursors.disguise(`${table.catalogue.id} ${seq}`),
        action: was === 'true' ? (is === 'true' ? 'update' : 'delete') : 'insert',
        at,
        by: isShown ? by : null,
        request_id: isShown ? requestId : null,
      });
      const rowText = (row: JsonRows, isSeen: boolean) => (isSeen ? row.written().toString('utf8') : 'null');
      list.push(
        `${known.slice(0, -1)},"before":${rowText(before, was === 'true')},"row":${rowText(after, is === 'true')}}`,
      );
    };
  });
  const shown = list.slice(0, perPage);
  ctx.recordRead({ action: 'read', table, output, rows: shown.length });
  const body = `{"data":[${shown.join(',')}],"page":${page},"per_page":${perPage},"has_more":${list.length > perPage}}`;
  return { page, rows: shown.length, response: jsonResponse(200, body) };
}
