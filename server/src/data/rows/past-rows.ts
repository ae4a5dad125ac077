import { historyPerPageMax } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { fail, validationError } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import { loggedId } from '../tables/change-log.ts';
import { isAlways, type PlannedCondition } from '../tables/conditions.ts';
import { parseText } from '../tables/values.ts';
import { changeable } from './access.ts';
import { bindAs, conditionSql, newRow, type RowRefs, type Values, valuesFor } from './condition-sql.ts';
import { jsonResponse, parseIdempotencyKey, type RowsCtx } from './context.ts';
import { judgedSql, logFrom, loggedRow } from './feed-changes.ts';
import { JsonRows, readValues } from './formats.ts';
import { parseQuery } from './parse-query.ts';
import { columnRef } from './row-table.ts';
import { idJson } from './upsert-rows.ts';
import { planResponse, refusedRow, runWrite } from './write-transaction.ts';

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

const historyOffError = ({ app, table }: RowsCtx, what: string, flag: string) =>
  fail('history_off', {
    detail:
      `Table ${table.catalogue.name} has no ${what}. An owner can switch it on: ` +
      `svc tables update ${table.catalogue.name} --app ${app.slug} ${flag} --execute`,
  });

/** Who else works with the rows is for owners to know. */
const isOwnerOfApp = ({ access }: Pick<RowsCtx, 'access'>) =>
  access.alternatives.some(({ because }) => because.some(({ kind }) => kind === 'owner'));

/** Deleted, and not there again: the last change of the row in the log. */
const isInTrash = (log: string, { physical }: CatalogueColumn) =>
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

const shownMax = 5;

/** What is brought back: a deleted row, or all rows that a request has deleted or updated. */
type Wanted = { id: string } | { requestId: string; by: string | null };

export async function restoreRows(ctx: RowsCtx, id: string | null): Promise<FastPathResponse> {
  const { softDeleteDays, historyDays } = ctx.table.catalogue;
  if (softDeleteDays == null && historyDays == null) throw historyOffError(ctx, 'trash', '--soft-delete 30d');
  if (!ctx.access.actions.has('read')) throw fail('forbidden');
  const text = id === null ? ctx.body.received().text() : '';
  const wanted = id === null ? parseWanted(ctx, text) : { id: requireId(ctx, id) };
  const operation = { id: id === null ? 'rows.restoreMany' : 'rows.restore', irreversible: false };
  const { dryRun } = parseQuery(ctx.search, 'change');
  const options = { dryRun, key: parseIdempotencyKey(ctx.request), bodyHash: () => sha256(text) };
  return runWrite(ctx, options, async (tx, mode) => {
    const found = await findLogged(ctx, tx, wanted);
    if (found.length === 0) throw fail('not_found');
    const deleted = found.filter(({ isDeleted }) => isDeleted);
    const inserted = await insertLogged(
      ctx,
      tx,
      deleted.map(({ seq }) => seq),
    );
    const updated = await updateLogged(
      ctx,
      tx,
      found.filter((each) => !each.isDeleted),
    );
    if (inserted.length < deleted.length) throw refusedRow();
    if (inserted.length + updated.length < found.length)
      throw fail('restore_conflict', {
        detail: `${found.length - inserted.length - updated.length} of ${found.length} rows have changed since. Nothing was restored.`,
      });
    const { type } = ctx.table.catalogue.idColumn;
    const ids = found.map(({ rowId }) => idJson(type, rowId));
    if (mode === 'execute') return jsonResponse(200, JSON.stringify({ restored: ids.length, ids }));
    const name = `${ctx.app.slug}/${ctx.table.catalogue.name}`;
    const summary = {
      inserted: inserted.length,
      updated: updated.length,
      digest: sha256(ids.join()).slice(0, 16),
    };
    const changes = found.slice(0, shownMax).map(({ rowId, isDeleted }) => ({
      action: operation.id,
      target: { kind: `row ${rowId}`, id: rowId, name },
      before: isDeleted ? null : {},
      after: { restored: true },
    }));
    const target = { kind: 'table', id: ctx.table.catalogue.name, name };
    return planResponse(operation, [
      { action: operation.id, target, before: {}, after: summary },
      ...changes,
    ]);
  });
}

/** Clients choose ids of requests: one person's never stands for the changes of another one. */
function parseWanted(ctx: RowsCtx, text: string): Wanted {
  const { request_id: requestId, by = null } = parseJson(text);
  if (typeof requestId !== 'string' || requestId === '')
    throw validationError(
      'request_id',
      'is required: the id of the request that changed the rows',
      'required',
    );
  if (by !== null && (typeof by !== 'string' || by === ''))
    throw validationError('by', 'must be the id of a person', 'invalid_type');
  return { requestId, by: isOwnerOfApp(ctx) ? by : ctx.caller.userId };
}

function parseJson(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    throw fail('malformed_json');
  }
}

function requireId({ table }: RowsCtx, id: string): string {
  const { idColumn } = table.catalogue;
  const value = parseText(idColumn.type, id);
  if (!value.ok || table.key !== idColumn) throw fail('not_found');
  return value.value;
}

interface Logged {
  seq: string;
  lastSeq: string;
  rowId: string;
  isDeleted: boolean;
}

/** One for each row, as it was before the request, and only rows that the caller saw then. */
async function findLogged(ctx: RowsCtx, tx: Transaction, wanted: Wanted): Promise<Logged[]> {
  const { table } = ctx;
  const { physical } = table.catalogue.idColumn;
  const days = Math.max(table.catalogue.softDeleteDays ?? 0, table.catalogue.historyDays ?? 0);
  const values = valuesFor(table);
  const rowId = loggedId(physical);
  const which =
    'id' in wanted
      ? // Only the last change: a row that is there again was not deleted.
        `${rowId} = ${bindAs(values, wanted.id, 'text')} and new is null and not exists (select from ${logFrom(table)} later` +
        ` where ${rowId.replace('new, old', 'later.new, later.old')} = (log.old ->> '${physical}') and later.seq > log.seq)`
      : wanted.by === null
        ? `split_part(cause, ' ', 2) = ${bindAs(values, wanted.requestId, 'text')}`
        : `cause = ${bindAs(values, `${wanted.by} ${wanted.requestId}`, 'text')}`;
  const entries =
    `select ${rowId} as id, min(seq) as seq, max(seq) as last, min(cause) as first_cause, max(cause) as last_cause from ${logFrom(table)} log` +
    ` where at > now() - make_interval(days => ${days}) and ${which} group by 1`;
  const plan = { table, where: [], output: table.all };
  const text =
    `select l.seq::text, e.last::text, e.id, (k.new is null)::text, e.first_cause, e.last_cause from (${entries}) e` +
    ` join ${logFrom(table)} l on l.seq = e.seq and l.old is not null join ${logFrom(table)} k on k.seq = e.last` +
    ` join lateral (${judgedSql(plan, 'old', values)}) o on true order by e.id`;
  const { rows } = await tx.query(text, values);
  if ('requestId' in wanted && new Set(rows.flatMap((row) => row.slice(4))).size > 1)
    throw fail('restore_conflict', {
      detail: 'Several people have used this request id. Say whose request is meant: `by`.',
    });
  return rows.map(([seq, lastSeq, rowId, isDeleted]) => ({
    seq: seq ?? '',
    lastSeq: lastSeq ?? '',
    rowId: rowId ?? '',
    isDeleted: isDeleted === 'true',
  }));
}

function insertLogged(ctx: RowsCtx, tx: Transaction, seqs: readonly string[]): Promise<string[]> {
  const { table, access } = ctx;
  const values = valuesFor(table);
  const names = table.catalogue.columns.map(({ physical }) => ident(physical));
  const list = bindAs(values, `{${seqs.join()}}`, 'int8[]');
  const check = checkSql(changeable(access, 'insert'), values, newRow(columnRef));
  const text =
    `insert into ${table.from} (${[...names, versionColumn].join(', ')}) overriding system value` +
    ` select ${names.map((name) => `t.${name}`).join(', ')}, t.${versionColumn} + 1 from ${logFrom(table)} l` +
    ` cross join lateral ${loggedRow(table, 'l.old')} t where l.seq = any(${list})${check}` +
    ` returning ${ident(table.catalogue.idColumn.physical)}::text`;
  return seqs.length === 0 ? Promise.resolve([]) : queryIds(tx, text, values);
}

/** A row that has changed since the request stays as it is. */
function updateLogged(ctx: RowsCtx, tx: Transaction, logged: readonly Logged[]): Promise<string[]> {
  const { table, access } = ctx;
  if (logged.length === 0) return Promise.resolve([]);
  const values = valuesFor(table);
  const { idColumn, columns } = table.catalogue;
  const written = columns.filter(({ role, type }) => role !== 'id' && type !== 'autonumber');
  const sets = written.map(({ physical }) => `${ident(physical)} = r.${ident(physical)}`);
  const plain = written.filter(({ role }) => role === 'plain').map(({ name }) => name);
  const allowed = changeable(access, 'update', plain);
  const restored = ({ physical }: typeof idColumn) => `r.${ident(physical)}`;
  const [first, last] = [
    bindAs(values, `{${logged.map(({ seq }) => seq).join()}}`, 'int8[]'),
    bindAs(values, `{${logged.map(({ lastSeq }) => lastSeq).join()}}`, 'int8[]'),
  ];
  const text =
    `update ${table.from} as t set ${sets.join(', ')}, ${versionColumn} = t.${versionColumn} + 1` +
    ` from unnest(${first}, ${last}) as e(seq, last) join ${logFrom(table)} l on l.seq = e.seq` +
    ` join ${logFrom(table)} k on k.seq = e.last cross join lateral ${loggedRow(table, 'l.old')} r` +
    ` where ${columnRef(idColumn)} = ${restored(idColumn)} and to_jsonb(t) = k.new::jsonb` +
    checkSql(allowed, values, { column: columnRef, old: columnRef, new: restored }) +
    checkSql(allowed, values, { column: restored, old: columnRef, new: restored }) +
    ` returning ${columnRef(idColumn)}::text`;
  return queryIds(tx, text, values);
}

const checkSql = (condition: PlannedCondition, values: Values, refs: RowRefs) =>
  isAlways(condition) ? '' : ` and ${conditionSql(condition, values, refs)}`;

async function queryIds(tx: Transaction, text: string, values: Values): Promise<string[]> {
  return (await tx.query(text, values)).rows.map(([id]) => id ?? '');
}
