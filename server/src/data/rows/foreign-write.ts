import { rowSegment } from '@svc/contract/row-path.ts';
import { rowBytesMax } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { sqlState } from '../../core/db.ts';
import { type Failure, fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { AppRows, Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { equals, type PlannedCondition } from '../tables/conditions.ts';
import { changeable, isWritable } from './access.ts';
import { conditionSql, dialectOf, type RowRefs, type Values, valuesFor } from './condition-sql.ts';
import {
  emptyResponse,
  jsonResponse,
  parseIdempotencyKey,
  parsePreferences,
  type RowsCtx,
} from './context.ts';
import { runOnce } from './data-schema.ts';
import {
  isNotModified,
  parseReturnedRow,
  queryRow,
  type ReturnedRow,
  rowEtag,
  whereRowId,
} from './get-row.ts';
import { parseQuery } from './parse-query.ts';
import { columnProblems, isProblems, noValueError, parseRowObject, rowProblemsError } from './parse-row.ts';
import { hasSeveralObjects } from './request-body.ts';
import type { RowTable } from './row-table.ts';
import { existsSql, oneSql, type Statement } from './sql.ts';
import type { InsertedColumn } from './write-sql.ts';
import { ifPlanHeader, isPreviewed, limitConflicts, previewResponse } from './write-transaction.ts';

/** Statements that change a row behind a connector. Its columns have no version, and masks do not apply to what is stored. */
type Where = readonly PlannedCondition[];

const foreignName = ({ catalogue: { schema, table } }: RowTable) => `${ident(schema)}.${ident(table)}`;

/** Values without a type: the server takes that of the column. */
function bindPlain(values: Values, { column, value }: InsertedColumn): string {
  if (typeof value === 'object' && value !== null) return value.sql;
  values.push(dialectOf(values).encode(value, column.type));
  return `$${values.length}`;
}

/** The stored columns themselves, as they are called in the other database. */
function foreignWhere(planned: Where, values: Values): string {
  return ` where ${planned.map((condition) => conditionSql(condition, values, byPhysicalName)).join(' and ')}`;
}
const byPhysicalName: RowRefs = { column: ({ physical }) => ident(physical) };

function lockForeignSql(table: RowTable, planned: Where): Statement {
  const values = valuesFor(table);
  return { text: `select 1 from ${foreignName(table)}${foreignWhere(planned, values)} for update`, values };
}

function foreignUpdateSql(table: RowTable, changed: readonly InsertedColumn[], planned: Where): Statement {
  const values = valuesFor(table);
  const sets = changed.map((change) => `${ident(change.column.physical)} = ${bindPlain(values, change)}`);
  return {
    text: `update ${foreignName(table)} set ${sets.join(', ')}${foreignWhere(planned, values)}`,
    values,
  };
}

function foreignDeleteSql(table: RowTable, planned: Where): Statement {
  const values = valuesFor(table);
  return { text: `delete from ${foreignName(table)}${foreignWhere(planned, values)}`, values };
}

function foreignInsertSql(table: RowTable, inserted: readonly InsertedColumn[]): Statement {
  const values = valuesFor(table);
  const names = inserted.map(({ column }) => ident(column.physical));
  const items = inserted.map((column) => bindPlain(values, column));
  const { returning, noValues } = dialectOf(values);
  const row = names.length === 0 ? noValues : `(${names.join(', ')}) values (${items.join(', ')})`;
  const keys = table.catalogue.foreign?.keys.map(({ physical }) => ident(physical)) ?? [];
  return { text: `insert into ${foreignName(table)} ${row}${returning(keys)}`, values };
}

function lastIdSql(table: RowTable): Statement {
  return { text: 'select last_insert_id()', values: valuesFor(table) };
}

export async function writeForeignRow(
  ctx: RowsCtx,
  writeDb: AppRows,
  id: string | null,
): Promise<FastPathResponse> {
  const { method } = ctx.request;
  const { dryRun } = parseQuery(ctx.search, 'change');
  if (ctx.table.catalogue.foreign?.keys.length === 0)
    throw fail('method_not_allowed', {
      detail: 'The table has no primary key, so its rows cannot be changed.',
      headers: { allow: 'GET, HEAD' },
    });
  if (id === null) return insertForeignRow(ctx, writeDb, dryRun);
  const where = whereRowId(ctx, id);
  const changes = method === 'DELETE' ? null : parseChanges(ctx, readBody(ctx), 'update');
  return runForeign(ctx, writeDb, dryRun, (tx) => changeForeignRow(ctx, tx, { id, where, changes }));
}

interface Changed {
  operation: { id: string; irreversible: boolean };
  id: string;
  before: ReturnedRow | null;
  after: ReturnedRow | null;
  response: FastPathResponse;
}

function runForeign(
  ctx: RowsCtx,
  writeDb: AppRows,
  dryRun: boolean,
  work: (tx: Transaction) => Promise<Changed>,
): Promise<FastPathResponse> {
  const change = async (
    tx: Transaction,
  ): Promise<{ end: 'commit' | 'rollback'; value: FastPathResponse }> => {
    const { operation, id, before, after, response } = await work(tx);
    const plan = ifPlanHeader(ctx.request);
    if (!dryRun && plan === null) return { end: 'commit', value: response };
    const preview = previewResponse(ctx, operation, {
      id,
      before: before && parseReturnedRow(before),
      after: after && parseReturnedRow(after),
    });
    if (dryRun) return { end: 'rollback', value: preview };
    const { fingerprint } = JSON.parse(String(preview.body)).plan;
    if (fingerprint !== plan) throw fail('plan_stale');
    return { end: 'commit', value: response };
  };
  const execute = () =>
    writeDb.transaction(change).catch((error: unknown) => {
      throw refusedError(error, ctx) ?? error;
    });
  return isPreviewed(ctx, { dryRun }) ? limitConflicts(ctx, execute) : execute();
}

/** Errors of the data source. Its own texts could reveal names and values that the caller must not see. */
const refusals: Readonly<Record<string, { code: string; detail: string }>> = {
  23503: { code: 'reference_violation', detail: 'refers to a row that does not exist' },
  23514: { code: 'check_violation', detail: 'does not meet a check of the data source' },
  44000: { code: 'check_violation', detail: 'does not meet the condition of the view' },
  '428C9': { code: 'read_only', detail: 'has a value for a column that the data source sets' },
  P0001: { code: 'refused', detail: 'is refused by a trigger of the data source' },
};

function refusedError(error: unknown, { table: { catalogue } }: RowsCtx): Failure | null {
  const state = sqlState(error) ?? '';
  if (['42501', '55000', '25006'].includes(state))
    return fail('connector_read_only', { detail: loginDetail }, { cause: error });
  if (state === '23P01') {
    const detail = 'An existing row excludes this one.';
    const errors = [{ code: 'unique_violation', detail: 'excludes this row' }];
    return fail('unique_violation', { detail, errors }, { cause: error });
  }
  if (state === '23001' || (state === '23503' && isOfReferrer(error, catalogue.table)))
    return fail('row_in_use', {}, { cause: error });
  const item = refusals[state];
  return item
    ? fail('validation_failed', { detail: `The row ${item.detail}.`, errors: [item] }, { cause: error })
    : null;
}

const loginDetail =
  'The data source does not allow this change to the login of the connector. An admin can give the login the right to make it.';

/** PostgreSQL names the table with the reference; where it refers to itself, only the text says which row is meant. */
function isOfReferrer(error: unknown, written: string): boolean {
  if (!(error instanceof Error) || !('table' in error) || typeof error.table !== 'string') return false;
  return error.table !== written || error.message.startsWith('update or delete');
}

async function changeForeignRow(
  ctx: RowsCtx,
  tx: Transaction,
  { id, where, changes }: { id: string; where: PlannedCondition[]; changes: InsertedColumn[] | null },
): Promise<Changed> {
  const { table, access } = ctx;
  const action = changes ? 'update' : 'delete';
  const columns = changes?.map(({ column }) => column.name) ?? [];
  await run(tx, lockForeignSql(table, where));
  const before = await queryRow(tx.query, oneSql(table, table.all, where), table.all, 1);
  if (!before) throw fail('not_found');
  const ifMatch = ctx.request.headers.get('if-match');
  if (ifMatch !== null && ifMatch.trim() !== '*' && !isNotModified(ifMatch, rowEtag(table, before, '')))
    throw fail('precondition_failed');
  const allowed = changeable(access, action, columns);
  const requireAllowed = async () => {
    if ((await run(tx, existsSql(table, [...where, allowed]))).rows.length === 0)
      throw fail('forbidden', { detail: 'Your grants do not allow this change.' });
  };
  await requireAllowed();
  if (!changes) {
    await run(tx, foreignDeleteSql(table, where));
    const operation = { id: 'rows.delete', irreversible: true };
    return { operation, id, before, after: null, response: emptyResponse(204) };
  }
  if (changes.length > 0) await run(tx, foreignUpdateSql(table, changes, where));
  await requireAllowed();
  const after = await queryRow(tx.query, oneSql(table, table.all, where), table.all, 1);
  const isShown = after !== null && !parsePreferences(ctx.request).isMinimal;
  const headers: Record<string, string> = after ? { etag: rowEtag(table, after, '') } : {};
  const response = isShown ? jsonResponse(200, after.json, headers) : emptyResponse(204, headers);
  return { operation: { id: 'rows.update', irreversible: false }, id, before, after, response };
}

async function insertForeignRow(ctx: RowsCtx, writeDb: AppRows, dryRun: boolean): Promise<FastPathResponse> {
  const body = readBody(ctx);
  const inserted = parseChanges(ctx, body, 'insert');
  const execute = () => runForeign(ctx, writeDb, dryRun, (tx) => insertInto(ctx, tx, inserted));
  const key = dryRun ? null : parseIdempotencyKey(ctx.request);
  if (key === null) return execute();
  // The key is in our own database: it is stored once the other one has committed.
  const request = {
    callerId: ctx.caller.userId,
    key,
    requestHash: sha256(`POST ${ctx.path}?${ctx.search}\n${sha256(body)}`),
  };
  return ctx.ownDb.transaction(async (tx) => {
    const { status, headers, body } = await runOnce(tx, [ctx.table], request, async () => {
      const response = await execute();
      const text = response.body === null ? '' : Buffer.from(response.body as Uint8Array).toString('utf8');
      return { status: response.status, headers: response.headers, body: text };
    });
    return { end: 'commit', value: { status, headers, body: body === '' ? null : body } };
  });
}

async function insertInto(ctx: RowsCtx, tx: Transaction, inserted: InsertedColumn[]): Promise<Changed> {
  const { table, access } = ctx;
  const keys = table.catalogue.foreign?.keys ?? [];
  const { rows } = await run(tx, foreignInsertSql(table, inserted)).catch((error: unknown) => {
    throw missingValuesError(ctx, inserted, error) ?? error;
  });
  const findValue = (column: CatalogueColumn) => inserted.find((each) => each.column === column)?.value;
  // PostgreSQL returns the key, MySQL only the number that it has generated.
  const generated =
    rows[0] ??
    (await lastId(
      ctx,
      tx,
      keys.every((column) => typeof findValue(column) === 'string'),
    ));
  const values = keys.map((column, at) => {
    const value =
      table.catalogue.foreign?.kind === 'postgres' ? generated[at] : (findValue(column) ?? generated[0]);
    if (typeof value !== 'string') throw new Error('The insert returned no key.');
    return equals(column, value);
  });
  const columns = inserted.map(({ column }) => column.name);
  const allowed = changeable(access, 'insert', columns);
  if ((await run(tx, existsSql(table, [...values, allowed]))).rows.length === 0)
    throw fail('forbidden', { detail: 'Your grants do not allow this row.' });
  const after = access.actions.has('read')
    ? await queryRow(tx.query, oneSql(table, table.all, values), table.all, 1)
    : null;
  const id = values.map((test) => ('value' in test ? keyText(test.value, values.length) : '')).join(',');
  const headers: Record<string, string> = { location: `${ctx.path}/${rowSegment(id)}` };
  if (after) headers.etag = rowEtag(table, after, '');
  const isShown = after !== null && !parsePreferences(ctx.request).isMinimal;
  const response = isShown ? jsonResponse(201, after.json, headers) : emptyResponse(201, headers);
  return { operation: { id: 'rows.insert', irreversible: false }, id: '', before: null, after, response };
}

function missingValuesError({ table }: RowsCtx, inserted: readonly InsertedColumn[], error: unknown) {
  if (sqlState(error) !== '23502') return null;
  const missing = table.catalogue.columns.filter(
    (column) => column.isRequired && !inserted.some((each) => each.column === column),
  );
  if (missing.length === 0) return null;
  if (missing.some(({ name }) => !table.positions.has(name))) return noValueError();
  return rowProblemsError(missing.map(({ name }) => ({ column: name, ...columnProblems.required })));
}

const keyText = (value: string, parts: number) =>
  parts === 1 ? value : value.replaceAll('%', '%25').replaceAll(',', '%2C');

async function lastId({ table }: RowsCtx, tx: Transaction, hasId: boolean): Promise<(string | null)[]> {
  return hasId ? [] : ((await run(tx, lastIdSql(table))).rows[0] ?? []);
}

function run(tx: Transaction, { text, values }: { text: string; values: readonly (string | null)[] }) {
  return tx.query(text, values);
}

function readBody(ctx: RowsCtx): string {
  const body = ctx.body.received();
  if (body.size > rowBytesMax) throw fail('payload_too_large');
  const text = body.text();
  if (ctx.body.isJsonLines || hasSeveralObjects(text))
    throw fail('unsupported_media_type', {
      detail: 'A connector takes one row per request, as a JSON object.',
    });
  return text;
}

function parseChanges(
  { table, access }: RowsCtx,
  text: string,
  action: 'insert' | 'update',
): InsertedColumn[] {
  const input = parseRowObject(table, text, 0, text.length);
  if (isProblems(input)) throw rowProblemsError(input);
  const { keys = [] } = table.catalogue.foreign ?? {};
  const changes = table.catalogue.columns.flatMap((column, at) => {
    const value = input[at];
    return value === undefined ? [] : [{ column, value }];
  });
  const problems = changes.flatMap(({ column, value }) => {
    const isFixed = action === 'update' && keys.includes(column);
    if (isFixed || !isWritable(access, action, column.name))
      return [{ column: column.name, code: 'read_only', detail: 'cannot be set by you' }];
    if (value === null && !column.nullable)
      return [{ column: column.name, code: 'not_null', detail: 'must not be null' }];
    return [];
  });
  if (problems.length > 0) throw rowProblemsError(problems);
  return changes;
}
