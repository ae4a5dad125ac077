import { errorCodes } from '@svc/contract/error-codes.ts';
import { jsonMembers } from '@svc/contract/json.ts';
import { Failure, fail } from '../../core/problem.ts';
import type { AppRows, Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { anyOf, isOneOf } from '../tables/conditions.ts';
import { parseText } from '../tables/values.ts';
import { type ChangeAction, changeable } from './access.ts';
import {
  type Operation,
  operationError,
  parseOperations,
  Reference,
  resolveValues,
  valueReferences,
} from './batch-operations.ts';
import { changeRowIn, planDelete, planUpdate } from './change-row.ts';
import { jsonResponse, parseIdempotencyKey, parsePreferences, type RowsCtx, recordRows } from './context.ts';
import { insertRowIn, planInsert, planUpsertedRow, upsertRowIn } from './insert-row.ts';
import { parseQuery } from './parse-query.ts';
import { rowError, withVisibleNames } from './row-errors.ts';
import { createOutput } from './row-table.ts';
import { idJson, planUpsert } from './upsert-rows.ts';
import { lockSql } from './write-sql.ts';
import {
  createCascades,
  planResponse,
  type RowWritten,
  requireAction,
  runWrite,
  type WriteMode,
} from './write-transaction.ts';

export type BatchCtx = Pick<
  RowsCtx,
  'caller' | 'request' | 'search' | 'path' | 'previewConflicts' | 'body' | 'info'
> & {
  openTable(name: string): Promise<RowsCtx | null>;
};

/** Changes rows of several tables in one transaction, each as a request of its own would. */
export async function runBatch(ctx: BatchCtx): Promise<FastPathResponse> {
  const { dryRun } = parseQuery(ctx.search, 'change');
  if (ctx.body.isJsonLines)
    throw fail('unsupported_media_type', { detail: 'Send the operations as one JSON object.' });
  const body = ctx.body.received();
  const operations = parseOperations(body.text());
  const tables = await openTables(ctx, operations);
  const [first] = tables;
  if (!first) throw new Error('A batch has at least one operation.');
  const { isMinimal } = parsePreferences(ctx.request);
  const options = {
    dryRun,
    key: parseIdempotencyKey(ctx.request),
    bodyHash: () => body.sha256(),
    operationsCount: operations.length,
  };
  let hasRow: boolean[] | null = null;
  const response = await runWrite(
    { ...ctx, rowDb: first.rowDb, openRelated: first.openRelated, tables: tables.map(({ table }) => table) },
    options,
    async (tx, mode) => {
      const cascades = createCascades(tx);
      const written = await runOperations(tx, mode, { operations, tables, cascades });
      hasRow = written.map(({ response, previewed }, at) =>
        mode === 'preview'
          ? operations[at]?.id !== null && hasValues(previewed)
          : response.body !== null && !isMinimal,
      );
      return mode === 'preview'
        ? previewBatch(first, operations, written, cascades.warnings())
        : respond(ctx, tables, operations, written);
    },
  );
  recordResults(tables, hasRow ?? parseHasRow(response));
  return response;
}

const hasValues = (previewed: RowWritten['previewed']) =>
  Object.keys({ ...previewed?.before, ...previewed?.after }).length > 0;

function parseHasRow(response: FastPathResponse): boolean[] {
  const text = bodyText(response);
  const results: { row?: unknown }[] = text === '' ? [] : JSON.parse(text).results;
  return results.map(({ row }) => row !== undefined);
}

function recordResults(tables: readonly RowsCtx[], hasRow: readonly boolean[]): void {
  for (const table of new Set(tables))
    recordRows(table, hasRow.filter((has, at) => has && tables[at] === table).length);
}

const actions: Readonly<Record<Operation['op'], ChangeAction>> = {
  insert: 'insert',
  upsert: 'insert',
  update: 'update',
  delete: 'delete',
};

async function openTables(ctx: BatchCtx, operations: readonly Operation[]): Promise<RowsCtx[]> {
  const opened = new Map<string, RowsCtx | null>();
  const tables: RowsCtx[] = [];
  for (const [at, { op, table: name }] of operations.entries()) {
    const table = opened.get(name) ?? (await ctx.openTable(name));
    opened.set(name, table);
    try {
      if (!table) throw fail('not_found', { detail: 'The table does not exist, or is not visible to you.' });
      requireAction(table, actions[op]);
      tables.push(table);
    } catch (error) {
      throw await atOperation(at, error, null);
    }
  }
  return tables;
}

type Cascades = ReturnType<typeof createCascades>;

type NamedRows = Map<string, ReadonlyMap<string, string>>;

async function runOperations(
  tx: Transaction,
  mode: WriteMode,
  batch: { operations: readonly Operation[]; tables: readonly RowsCtx[]; cascades: Cascades },
): Promise<RowWritten[]> {
  const named: NamedRows = new Map();
  const results: RowWritten[] = [];
  const rowDb = inTransaction(tx);
  await lockRows(tx, batch);
  for (const [at, operation] of batch.operations.entries()) {
    const table = batch.tables[at];
    if (!table) continue;
    const headers = new Headers(operation.ifMatch === null ? {} : { 'if-match': quote(operation.ifMatch) });
    const request = new Request(table.request.url, { method: 'POST', headers });
    const ctx: RowsCtx = { ...table, request, rowDb, search: '' };
    try {
      const run = () => runOperation(ctx, tx, mode, { operation, at, named });
      const isCounted = operation.op === 'delete' && mode === 'preview';
      const written = await (isCounted ? batch.cascades.count(ctx, run, () => 1) : run());
      if (operation.as !== null) named.set(operation.as, returnedMembers(ctx, written));
      results.push(written);
    } catch (error) {
      throw await atOperation(at, error, ctx);
    }
  }
  return results;
}

/** In one order for all batches, so that two that change the same rows do not wait for each other. */
async function lockRows(
  tx: Transaction,
  { operations, tables }: { operations: readonly Operation[]; tables: readonly RowsCtx[] },
): Promise<void> {
  const addressed = new Map<RowsCtx, Set<string>>();
  for (const [at, { id }] of operations.entries()) {
    const ctx = tables[at];
    const value = ctx && typeof id === 'string' ? parseText(ctx.table.catalogue.idColumn.type, id) : null;
    if (!ctx || !value?.ok) continue;
    addressed.set(ctx, (addressed.get(ctx) ?? new Set()).add(value.value));
  }
  const rowsCount = [...addressed.values()].reduce((sum, ids) => sum + ids.size, 0);
  if (rowsCount < 2) return;
  const inOrder = [...addressed].toSorted(([one], [other]) =>
    one.table.catalogue.id < other.table.catalogue.id ? -1 : 1,
  );
  for (const [{ table, access }, ids] of inOrder) {
    const allowed = anyOf([changeable(access, 'update'), changeable(access, 'delete')]);
    const { text, values } = lockSql(
      table,
      { where: [isOneOf(table.catalogue.idColumn, [...ids])], allowed },
      { output: noColumns, changed: null, rowsMax: ids.size },
    );
    await tx.query(text, values);
  }
}

const noColumns = createOutput([]);
const quote = (etag: string) => (etag === '*' || etag.includes('"') ? etag : `"${etag}"`);

async function runOperation(
  ctx: RowsCtx,
  tx: Transaction,
  mode: WriteMode,
  { operation, at, named }: { operation: Operation; at: number; named: NamedRows },
): Promise<RowWritten> {
  const resolve = ({ alias, column }: Reference) => {
    const text = named.get(alias)?.get(column);
    if (text === undefined)
      throw operationError(at, '$ref', `${alias} has no column ${column.slice(0, 63)} that you can read`);
    return text;
  };
  const { op, onConflict, resolution } = operation;
  const values = resolveValues(operation.values, resolve);
  const id = operation.id instanceof Reference ? idText(resolve(operation.id)) : (operation.id ?? '');
  switch (op) {
    case 'insert':
      return insertRowIn(ctx, planInsert(ctx, values), tx, mode);
    case 'upsert': {
      const upsert = planUpsert(ctx.table, onConflict, resolution);
      if (!upsert) throw new Error('An upsert has a resolution.');
      return upsertRowIn(ctx, await planUpsertedRow(ctx, values, upsert), tx, mode);
    }
    case 'update':
      return changeRowIn(ctx, planUpdate(ctx, id, values, false), tx.query, mode);
    case 'delete':
      return changeRowIn(ctx, planDelete(ctx, id, false), tx.query, mode);
  }
}

const idText = (json: string) => (json.startsWith('"') ? String(JSON.parse(json)) : json);

function inTransaction(tx: Transaction): AppRows {
  return {
    run: (_, text, values, receive) => tx.query(text, values, receive?.()),
    transaction: () => Promise.reject(new Error('A batch is one transaction.')),
  };
}

function returnedMembers(ctx: RowsCtx, { response }: RowWritten): Map<string, string> {
  const members = jsonMembers(bodyText(response));
  const { idColumn } = ctx.table.catalogue;
  const id = locatedId(ctx, response);
  // Callers who may insert but not read rows know the id.
  if (id !== null && !members.has(idColumn.name)) members.set(idColumn.name, JSON.stringify(id));
  return members;
}

const bodyText = ({ body }: FastPathResponse) =>
  body === null || body instanceof ReadableStream ? '' : Buffer.from(body).toString('utf8');

function locatedId({ table }: RowsCtx, { headers }: FastPathResponse): string | number | null {
  const segment = headers.location?.split('/').at(-1);
  return segment === undefined ? null : idJson(table.catalogue.idColumn.type, decodeURIComponent(segment));
}

async function atOperation(at: number, error: unknown, ctx: RowsCtx | null): Promise<unknown> {
  const raised = error instanceof Failure ? error : ctx && rowError(error, ctx.table);
  const failure = raised && ctx ? await withVisibleNames(raised, ctx.table, ctx.openRelated) : raised;
  if (!failure) return error;
  const detail = failure.detail ?? errorCodes[failure.code].means;
  if (failure.errors?.some(({ operation }) => operation !== undefined)) return failure;
  const items = failure.errors ?? [{ code: failure.code, detail }];
  const errors = items.map((item) => ({ operation: at, ...item }));
  return fail(failure.code, { detail: `Operation ${at}: ${detail}`, errors }, { cause: error });
}

function previewBatch(
  { app }: RowsCtx,
  operations: readonly Operation[],
  written: readonly RowWritten[],
  warnings: readonly string[],
): FastPathResponse {
  const id = 'rows.batch';
  const summary = {
    action: id,
    target: { kind: 'app', id: app.slug, name: app.slug },
    before: {},
    after: { operations: operations.length },
  };
  const changes = operations.map((operation, at) => {
    const { op, table } = operation;
    const { id: rowId, ...change } = stableChange(operation, written[at]?.previewed ?? null);
    const target = { kind: `[${at}] ${op} ${table}`, id: rowId, name: `${app.slug}/${table}` };
    return { action: id, target, ...change };
  });
  const irreversible = operations.some(({ op }) => op === 'delete');
  return planResponse({ id, irreversible }, [summary, ...changes], warnings);
}

/** References stand for values that another run would assign anew. */
function stableChange({ id, values }: Operation, previewed: RowWritten['previewed']) {
  const { before = null, after = null } = previewed ?? {};
  const references = [...valueReferences(values)].map(([column, reference]) => [column, String(reference)]);
  const shownId = String(id ?? previewed?.id ?? '');
  if (id instanceof Reference && after === null) return { id: shownId, before: { row: shownId }, after };
  return { id: shownId, before, after: after && { ...after, ...Object.fromEntries(references) } };
}

function respond(
  ctx: BatchCtx,
  tables: readonly RowsCtx[],
  operations: readonly Operation[],
  written: readonly RowWritten[],
): FastPathResponse {
  const { isMinimal } = parsePreferences(ctx.request);
  const results = written.map(({ response }, at) => {
    const table = tables[at];
    const parts = [`"op":${JSON.stringify(operations[at]?.op)}`, `"status":${response.status}`];
    const id = table ? locatedId(table, response) : null;
    if (id !== null) parts.push(`"id":${JSON.stringify(id)}`);
    if (response.headers.etag !== undefined) parts.push(`"etag":${JSON.stringify(response.headers.etag)}`);
    const row = bodyText(response);
    if (row !== '' && !isMinimal) parts.push(`"row":${row}`);
    return `{${parts.join(',')}}`;
  });
  return jsonResponse(200, `{"results":[${results.join(',')}]}`);
}
