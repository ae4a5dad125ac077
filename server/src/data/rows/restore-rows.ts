import { escapeIdentifier as ident } from 'pg';
import { fail, validationError } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { versionColumn } from '../tables/catalogue.ts';
import { loggedId } from '../tables/change-log.ts';
import { isAlways, type PlannedCondition } from '../tables/conditions.ts';
import { parseText } from '../tables/values.ts';
import { changeable } from './access.ts';
import { judgedSql, logFrom, loggedRow } from './changes-sql.ts';
import { bindAs, conditionSql, newRow, type RowRefs, type Values, valuesFor } from './condition-sql.ts';
import { jsonResponse, parseIdempotencyKey, type RowsCtx } from './context.ts';
import { historyOffError, isOwnerOfApp } from './history.ts';
import { parseQuery } from './parse-query.ts';
import { columnRef } from './row-table.ts';
import { idJson } from './upsert-rows.ts';
import { refusedRow } from './write-checks.ts';
import { planResponse, runWrite } from './write-transaction.ts';

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
