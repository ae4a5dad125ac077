import { describeColumnType } from '@svc/contract/columns.ts';
import { historyPerPageMax } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { sqlState } from '../../core/db.ts';
import { type Failure, fail, validationError } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import { loggedId } from '../tables/change-log.ts';
import { isAlways, type PlannedCondition } from '../tables/conditions.ts';
import { parseText } from '../tables/values.ts';
import { changeable } from './access.ts';
import { showsIds } from './change-rows.ts';
import { bindAs, conditionSql, newRow, type RowRefs, type Values, valuesFor } from './condition-sql.ts';
import { jsonResponse, parseIdempotencyKey, type RowsCtx } from './context.ts';
import { logFrom, loggedRow, visibleChangeSql } from './feed-changes.ts';
import { JsonRows, readValues } from './formats.ts';
import { parseQuery } from './parse-query.ts';
import { columnRef } from './row-table.ts';
import { idJson } from './upsert-rows.ts';
import { planResponse, refusedRowError, runWrite } from './write-transaction.ts';

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

/** Only owners see who else changed the rows. */
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
    ` left join lateral (${visibleChangeSql(plan, 'old', values)}) o on true` +
    ` left join lateral (${visibleChangeSql(plan, 'new', values)}) n on true` +
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
      const rowText = (row: JsonRows, canSee: boolean) => (canSee ? row.written().toString('utf8') : 'null');
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

type RestoreInput = { id: string } | { requestId: string; by: string | null };

export async function restoreRows(ctx: RowsCtx, id: string | null): Promise<FastPathResponse> {
  const { softDeleteDays, historyDays } = ctx.table.catalogue;
  if (softDeleteDays == null && historyDays == null) throw historyOffError(ctx, 'trash', '--soft-delete 30d');
  if (!ctx.access.actions.has('read')) throw fail('forbidden');
  const text = id === null ? ctx.body.received().text() : '';
  const input = id === null ? parseRestoreInput(ctx, text) : { id: requireId(ctx, id) };
  const operation = { id: id === null ? 'rows.restoreMany' : 'rows.restore', irreversible: false };
  const { dryRun } = parseQuery(ctx.search, 'change');
  const options = { dryRun, key: parseIdempotencyKey(ctx.request), bodyHash: () => sha256(text) };
  return runWrite(ctx, options, async (tx, mode) => {
    const found = await findLogged(ctx, tx, input);
    if (found.length === 0) throw fail('not_found');
    const deleted = found.filter(({ isDeleted }) => isDeleted);
    const restore = async () => {
      const inserted: string[] = [];
      for (const [numbered, rows] of Map.groupBy(deleted, (row) => row.numbered))
        inserted.push(...(await insertLogged(ctx, tx, rows, numbered.split(' '))));
      const others = found.filter((each) => !each.isDeleted);
      return { inserted, updated: await updateLogged(ctx, tx, others) };
    };
    const { inserted, updated } = await restore().catch((error: unknown) => {
      throw missingValueError(error, ctx) ?? error;
    });
    if (inserted.length < deleted.length) throw refusedRowError();
    if (inserted.length + updated.length < found.length)
      throw fail('restore_conflict', {
        detail: `${found.length - inserted.length - updated.length} of ${found.length} rows have changed since. Nothing was restored.`,
      });
    const { type } = ctx.table.catalogue.idColumn;
    const ids = found.map(({ rowId }) => idJson(type, rowId));
    const isNamed = showsIds(ctx);
    if (mode === 'execute')
      return jsonResponse(200, JSON.stringify({ restored: ids.length, ...(isNamed && { ids }) }));
    const name = `${ctx.app.slug}/${ctx.table.catalogue.name}`;
    const summary = {
      inserted: inserted.length,
      updated: updated.length,
      digest: sha256(ids.join()).slice(0, 16),
    };
    const changes = found.slice(0, shownMax).map(({ rowId, isDeleted }, at) => {
      const id = isNamed ? rowId : String(at + 1);
      const target = { kind: `row ${id}`, id, name };
      return { action: operation.id, target, before: isDeleted ? null : {}, after: { restored: true } };
    });
    const target = { kind: 'table', id: ctx.table.catalogue.name, name };
    return planResponse(operation, [
      { action: operation.id, target, before: {}, after: summary },
      ...changes,
    ]);
  });
}

/** Null of a column that is not known here yet: with the table as it is now, there may be a value. */
function missingValueError(error: unknown, { table }: RowsCtx): Failure | null {
  if (sqlState(error) !== '23502' || !(error instanceof Error) || !('column' in error)) return null;
  const column = table.catalogue.columns.find(({ physical }) => physical === error.column);
  if (!column || column.nullable) return null;
  const name = table.positions.has(column.name) ? `the column ${column.name}` : 'a column';
  const detail = `The rows have no value for ${name}, which must have one by now. Nothing was restored.`;
  return fail('restore_conflict', { detail }, { cause: error });
}

/** Clients choose ids of requests: only owners can name the request of another person. */
function parseRestoreInput(ctx: RowsCtx, text: string): RestoreInput {
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
  changed: readonly string[];
  /** The columns whose number the row has: PostgreSQL assigns those of columns that the table has got since. */
  numbered: string;
}

/** One for each row, as it was before the request, and only rows that the caller saw then. */
async function findLogged(ctx: RowsCtx, tx: Transaction, input: RestoreInput): Promise<Logged[]> {
  const { table } = ctx;
  const { physical } = table.catalogue.idColumn;
  const { softDeleteDays, historyDays } = table.catalogue;
  const days = Math.max(softDeleteDays ?? 0, historyDays ?? 0);
  // Deleted rows can be restored as long as the trash shows them.
  const lastDays = `case when new is null then ${softDeleteDays ?? days} else ${days} end`;
  const values = valuesFor(table);
  const rowId = loggedId(physical);
  const which =
    'id' in input
      ? // Only the last change: a row that is there again was not deleted.
        `${rowId} = ${bindAs(values, input.id, 'text')} and new is null and not exists (select from ${logFrom(table)} later` +
        ` where ${rowId.replace('new, old', 'later.new, later.old')} = (log.old ->> '${physical}') and later.seq > log.seq)`
      : input.by === null
        ? `split_part(cause, ' ', 2) = ${bindAs(values, input.requestId, 'text')}`
        : `cause = ${bindAs(values, `${input.by} ${input.requestId}`, 'text')}`;
  const entries =
    `select ${rowId} as id, min(seq) as seq, max(seq) as last, min(cause) as first_cause, max(cause) as last_cause from ${logFrom(table)} log` +
    ` where at > now() - make_interval(days => ${days}) and at > now() - make_interval(days => ${lastDays}) and ${which} group by 1`;
  const plan = { table, where: [], output: table.all };
  const changed = `select string_agg(o.key, ' ') from jsonb_each(l.old::jsonb) o where o.value is distinct from k.new::jsonb -> o.key`;
  const numbers = table.catalogue.columns
    .filter(({ type }) => type === 'autonumber')
    .map(({ physical }) => `case when l.old -> '${physical}' is not null then '${physical}' end`);
  const numbered = `concat_ws(${["' '", 'null', ...numbers].join(', ')})`;
  const text =
    `select l.seq::text, e.last::text, e.id, (k.new is null)::text, (${changed}), ${numbered}, e.first_cause, e.last_cause from (${entries}) e` +
    ` join ${logFrom(table)} l on l.seq = e.seq and l.old is not null join ${logFrom(table)} k on k.seq = e.last` +
    ` join lateral (${visibleChangeSql(plan, 'old', values)}) o on true order by e.id`;
  const { rows } = await tx.query(text, values);
  if ('requestId' in input && new Set(rows.flatMap((row) => row.slice(6))).size > 1)
    throw fail('restore_conflict', {
      detail: 'Several people have used this request id. Say whose request is meant: `by`.',
    });
  return rows.map(([seq, lastSeq, rowId, isDeleted, changed, numbered]) => ({
    seq: seq ?? '',
    lastSeq: lastSeq ?? '',
    rowId: rowId ?? '',
    isDeleted: isDeleted === 'true',
    changed: changed?.split(' ') ?? [],
    numbered: numbered ?? '',
  }));
}

function insertLogged(
  ctx: RowsCtx,
  tx: Transaction,
  logged: readonly Logged[],
  numbered: readonly string[],
): Promise<string[]> {
  const { table, access } = ctx;
  const values = valuesFor(table);
  const { columns } = table.catalogue;
  const names = columns
    .filter(({ physical, type }) => type !== 'autonumber' || numbered.includes(physical))
    .map(({ physical }) => ident(physical));
  const items = columns.map((column) => {
    const name = ident(column.physical);
    const value = valueOfNewColumn(column, values);
    return value === null ? `r.${name}` : `${ifLogged(column, `r.${name}`, value)} as ${name}`;
  });
  const list = bindAs(values, `{${logged.map(({ seq }) => seq).join()}}`, 'int8[]');
  const check = checkSql(changeable(access, 'insert'), values, newRow(columnRef));
  const text =
    `insert into ${table.from} (${[...names, versionColumn].join(', ')}) overriding system value` +
    ` select ${names.map((name) => `t.${name}`).join(', ')}, t.${versionColumn} + 1 from ${logFrom(table)} l` +
    ` cross join lateral (select ${items.join(', ')}, r.${versionColumn} from ${loggedRow(table, 'l.old')} r) t where l.seq = any(${list})${check}` +
    ` returning ${ident(table.catalogue.idColumn.physical)}::text`;
  return queryIds(tx, text, values);
}

/** `absent` is for a column that the table has got since. */
const ifLogged = ({ physical }: CatalogueColumn, value: string, absent: string) =>
  `case when l.old -> '${physical}' is null then ${absent} else ${value} end`;

/** Null if the column may have none: what it has in rows of before. */
function valueOfNewColumn(column: CatalogueColumn, values: Values): string | null {
  const { type, default: rule } = column;
  switch (rule?.kind) {
    case 'literal':
      return bindAs(values, rule.text, describeColumnType(type).sql);
    case 'now':
      return 'now()';
    case 'random_uuid':
      return 'gen_random_uuid()';
    default:
      return null;
  }
}

/** The rows that are as the request left them: if some are not, nothing is restored. */
async function updateLogged(ctx: RowsCtx, tx: Transaction, logged: readonly Logged[]): Promise<string[]> {
  const { table, access } = ctx;
  if (logged.length === 0) return [];
  const values = valuesFor(table);
  const { idColumn, columns } = table.catalogue;
  const written = columns.filter(({ role, type }) => role !== 'id' && type !== 'autonumber');
  const loggedOrCurrent = (column: CatalogueColumn) => {
    const value = `r.${ident(column.physical)}`;
    return column === idColumn ? value : ifLogged(column, value, columnRef(column));
  };
  const sets = written.map((column) => `${ident(column.physical)} = ${loggedOrCurrent(column)}`);
  const changed = new Set(logged.flatMap((row) => row.changed));
  const plain = written.filter(({ role, physical }) => role === 'plain' && changed.has(physical));
  const allowed = changeable(
    access,
    'update',
    plain.map(({ name }) => name),
  );
  const [first, last] = [
    bindAs(values, `{${logged.map(({ seq }) => seq).join()}}`, 'int8[]'),
    bindAs(values, `{${logged.map(({ lastSeq }) => lastSeq).join()}}`, 'int8[]'),
  ];
  const source =
    `unnest(${first}, ${last}) as e(seq, last) join ${logFrom(table)} l on l.seq = e.seq` +
    ` join ${logFrom(table)} k on k.seq = e.last cross join lateral ${loggedRow(table, 'l.old')} r`;
  // Columns that were added or dropped since are no change of the row.
  const other = `select from jsonb_each(to_jsonb(t)) now where k.new::jsonb ? now.key and k.new::jsonb -> now.key is distinct from now.value`;
  const where = ` where ${columnRef(idColumn)} = ${loggedOrCurrent(idColumn)} and not exists (${other})`;
  if (!isAlways(allowed)) {
    const select = `select ${columnRef(idColumn)}::text from ${table.from} t cross join ${source}${where}`;
    const unchanged = await queryIds(tx, select, values);
    if (unchanged.length < logged.length) return unchanged;
  }
  const text =
    `update ${table.from} as t set ${sets.join(', ')}, ${versionColumn} = t.${versionColumn} + 1 from ${source}${where}` +
    checkSql(allowed, values, { column: columnRef, old: columnRef, new: loggedOrCurrent }) +
    checkSql(allowed, values, { column: loggedOrCurrent, old: columnRef, new: loggedOrCurrent }) +
    ` returning ${columnRef(idColumn)}::text`;
  const updated = await queryIds(tx, text, values);
  if (updated.length < logged.length && !isAlways(allowed)) throw refusedRowError();
  return updated;
}

const checkSql = (condition: PlannedCondition, values: Values, refs: RowRefs) =>
  isAlways(condition) ? '' : ` and ${conditionSql(condition, values, refs)}`;

async function queryIds(tx: Transaction, text: string, values: Values): Promise<string[]> {
  return (await tx.query(text, values)).rows.map(([id]) => id ?? '');
}
