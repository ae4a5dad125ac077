import { batchBytesMax, rowBytesMax } from '@svc/contract/rows.ts';
import type { AccessLog } from '../../access/log/access-log.ts';
import type { Caller } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { Failure, fail } from '../../core/problem.ts';
import type { AppRows, RowPool } from '../../drivers/row-database/row-pool.ts';
import type { FastPathHandler, FastPathRequest, FastPathResponse } from '../../http/handlers.ts';
import { type CallerLimit, type CountExchange, createCallCounter } from '../../http/rate-limit.ts';
import { createByteBudget } from '../../http/read-body.ts';
import type { FindCredential } from '../../identity/credentials/find-credential.ts';
import type { ChangeAction } from './access.ts';
import { aggregateRows } from './aggregate-rows.ts';
import { deleteRow, updateRow } from './change-row.ts';
import { deleteRows, updateRows } from './change-rows.ts';
import {
  parseIdempotencyKey,
  parsePreferences,
  parseRowsPath,
  type RowsCtx,
  type RowsPath,
  recordRows,
  withPreferenceApplied,
} from './context.ts';
import { createBatchLimit } from './data-schema.ts';
import { createExportLimit, exportRows } from './export-rows.ts';
import { type FilesDeps, sendFile, signFile, withUploadedFiles } from './files.ts';
import { type FeedDeps, followRows } from './follow-rows.ts';
import { writeForeignRow } from './foreign-write.ts';
import { hasPaging, preferredFormat } from './formats.ts';
import { getRow } from './get-row.ts';
import { createRecordRead } from './governed-read.ts';
import { insertBatch } from './insert-batch.ts';
import { insertRow, upsertRow } from './insert-row.ts';
import { countRows, listRows } from './list-rows.ts';
import { parseQuery } from './parse-query.ts';
import { listHistory, listTrash, restoreRows } from './past-rows.ts';
import { isPeoplePath, type PeopleCall } from './people.ts';
import type { Cursors } from './plan.ts';
import { createRequestBody, hasSeveralObjects, type ReceivedBody } from './request-body.ts';
import { isTableOutdated, rowError, withVisibleNames } from './row-errors.ts';
import { runBatch } from './run-batch.ts';
import { hasSameView, type TableAccess, type TableAccessCache } from './table-access.ts';
import { planUpsert } from './upsert-rows.ts';
import { cascadesToOthers, requireAction } from './write-transaction.ts';

export interface RowsDeps {
  rowDb: RowPool;
  findCredential: FindCredential;
  tableAccess: Pick<TableAccessCache, 'resolve' | 'invalidate'>;
  listPeople: (call: PeopleCall) => Promise<FastPathResponse>;
  ownAccess: (caller: Caller, path: RowsPath) => Promise<FastPathResponse>;
  cursors: Cursors;
  files: FilesDeps;
  accessLog: AccessLog;
  feeds: FeedDeps;
  now: () => Date;
  callerLimit?: CallerLimit;
  countExchange?: CountExchange | undefined;
}

/** One request, and the tables that it has used. */
interface Call extends Pick<RowsCtx, 'caller' | 'request' | 'search' | 'info' | 'body'> {
  used: RowsPath[];
  isRetry: boolean;
}

export const rowsPrefix = '/data/';
/** Memory for all request bodies. A batch counts twice while it is stored. */
const bodiesBytesMax = 32 * 1024 * 1024;
const bodyWaitMsMax = 30_000;

export function createRowsHandler(deps: RowsDeps): FastPathHandler {
  const exchange = deps.countExchange;
  const shared = {
    cursors: deps.cursors,
    exportLimit: createExportLimit(),
    previewConflicts: createCallCounter(deps.now, exchange && { exchange, name: 'conflicts' }),
  };
  const bodyDeps = {
    batchLimit: createBatchLimit(deps.rowDb),
    budget: createByteBudget({ bytesMax: bodiesBytesMax, waitMsMax: bodyWaitMsMax }),
  };
  const noBody = createRequestBody(new Request('http://localhost/'), bodyDeps, '');
  const rowsOfApps = new WeakMap<TableAccess, AppRows>();

  return {
    prefix: rowsPrefix,
    async answer(request, path, search, info) {
      const rowsPath = parseRowsPath(path);
      const found = deps.findCredential(request);
      const credential = found instanceof Promise ? await found : found;
      info.responseHeaders = deps.callerLimit?.(credential?.caller ?? null, info.clientAddress, 'when_low');
      if (!credential) throw fail('unauthenticated');
      const { caller } = credential;
      if (rowsPath === 'malformed')
        throw fail('validation_failed', { detail: 'The path is not percent-encoded correctly.' });
      if (!rowsPath) throw fail('not_found');
      if (isPeoplePath(rowsPath))
        return deps.listPeople({ caller, method: request.method, path: rowsPath, search });
      if (rowsPath.rest.kind === 'access') {
        requireMethod(request.method, rowsPath);
        return deps.ownAccess(caller, rowsPath);
      }
      const body = request.method === 'GET' ? noBody : createRequestBody(request, bodyDeps, caller.userId);
      const call: Call = { caller, request, search, info, body, used: [rowsPath], isRetry: false };
      try {
        if (rowsPath.rest.kind === 'batch') {
          requireMethod(request.method, rowsPath);
          await body.receive(batchBytesMax);
          await requireCredential(request);
        } else if ((request.method === 'POST' || request.method === 'PATCH') && hasBody(rowsPath)) {
          // An upload may take long: authorization is checked before it is read and once more afterwards.
          const access = await deps.tableAccess.resolve(caller, rowsPath);
          if (!access) throw fail('not_found');
          authorizeCall(access, request.method, rowsPath);
          if (body.isJsonLines && request.method === 'POST') await body.countAsBatch(access.app.id);
          await body.receive(request.method === 'POST' ? batchBytesMax : rowBytesMax);
          await requireCredential(request);
        }
        let response: FastPathResponse;
        try {
          response = await answerOnce(call, rowsPath);
        } catch (error) {
          if (!isTableOutdated(error)) throw error;
          // A table or its rules have changed since the access to it was cached.
          for (const each of call.used.splice(0)) deps.tableAccess.invalidate(caller, each);
          call.isRetry = true;
          response = await answerOnce(call, rowsPath).catch(refuseOutdated);
        }
        return rowsPath.rest.kind === 'batch' ? response : withPreferenceApplied(request, response);
      } finally {
        body.close();
      }
    },
  };

  async function answerOnce(call: Call, path: RowsPath): Promise<FastPathResponse> {
    if (path.rest.kind === 'batch') return answerBatch(call, path);
    const resolved = deps.tableAccess.resolve(call.caller, path);
    const access = resolved instanceof Promise ? await resolved : resolved;
    if (!access) throw fail('not_found');
    try {
      return await answerWith(access, call, path);
    } catch (error) {
      if (isTableOutdated(error) && !call.isRetry) throw error;
      const failure = error instanceof Failure ? error : rowError(error, access.table);
      if (failure)
        throw await withVisibleNames(failure, access.table, (table) =>
          openVisible(call.caller, { ...path, table }),
        );
      throw access.rowDb && isForeignTableOutdated(error) ? outdatedSchemaError(error) : error;
    }
  }

  function answerWith(access: TableAccess, call: Call, path: RowsPath): Promise<FastPathResponse> {
    const { request, info } = call;
    const { rest } = path;
    authorizeCall(access, request.method, path);
    if ((request.method === 'POST' || request.method === 'PATCH') && hasBody(path) && rest.kind !== 'files')
      return change(access, call, path);
    const ctx = contextOf(call, access, path);
    if (rest.kind === 'changes') return followRows(ctx, deps.feeds);
    if (rest.kind === 'files') return signFile(ctx, deps.files);
    if (rest.kind === 'file')
      return sendFile(ctx, deps.files, { ...rest, extendTimeout: info.extendTimeout });
    const responding = dispatch(ctx, path);
    return request.method === 'GET' ? responding : notifyFeeds(request, [access], responding);
  }

  async function change(access: TableAccess, call: Call, path: RowsPath): Promise<FastPathResponse> {
    const { request, body, search } = call;
    const withFiles = await withUploadedFiles(deps.files, access, body, search);
    return notifyFeeds(request, [access], dispatch(contextOf(call, withFiles, path), path));
  }

  async function notifyFeeds(
    { method }: FastPathRequest,
    written: readonly TableAccess[],
    responding: Promise<FastPathResponse>,
  ): Promise<FastPathResponse> {
    const response = await responding;
    const followed = written.find(
      ({ table }) =>
        (table.catalogue.changes && method !== 'GET') || (method === 'DELETE' && cascadesToOthers(table)),
    );
    if (followed) deps.feeds.hub.wrote(followed.app.id);
    return response;
  }

  /** Again, because reading the body may have taken long. */
  async function requireCredential(request: FastPathRequest): Promise<void> {
    if (!(await deps.findCredential(request))) throw fail('unauthenticated');
  }

  async function openVisible(caller: Caller, path: RowsPath): Promise<TableAccess | null> {
    const access = await deps.tableAccess.resolve(caller, path);
    return access?.access.actions.has('read') ? access : null;
  }

  function rowsOf(access: TableAccess): AppRows {
    const known = rowsOfApps.get(access);
    if (known) return known;
    const rows = deps.rowDb.of(access.app.id, access.table.catalogue.tenantId);
    rowsOfApps.set(access, rows);
    return rows;
  }

  function contextOf(call: Call, access: TableAccess, path: RowsPath): RowsCtx {
    const own = rowsOf(access);
    return {
      ...shared,
      caller: call.caller,
      request: call.request,
      search: call.search,
      info: call.info,
      body: call.body,
      app: access.app,
      table: access.table,
      exportTable: access.exportTable,
      access: access.access,
      refusal: access.refusal,
      rowDb: access.rowDb ?? own,
      ownDb: own,
      writeDb: access.writeDb,
      path: path.tablePath,
      recordRead: createRecordRead(deps.accessLog, access, call),
      currentAccess: () => currentAccess(call, path),
      openRelated: (table) => openRelated(call, { ...path, table }),
      hasSameAccess: async () => {
        const now = await currentAccess(call, path);
        return !!now && hasSameView(now, access);
      },
    };
  }

  async function currentAccess({ request, caller }: Call, path: RowsPath): Promise<TableAccess | null> {
    return (await deps.findCredential(request)) && (await deps.tableAccess.resolve(caller, path));
  }

  async function openRelated(call: Call, path: RowsPath) {
    call.used.push(path);
    const found = await openVisible(call.caller, path);
    if (!found) return null;
    const recordRead = createRecordRead(deps.accessLog, found, call);
    return { table: found.table, recordRead, isGoverned: found.governed !== undefined };
  }

  function answerBatch(call: Call, path: RowsPath): Promise<FastPathResponse> {
    const { caller, request, search, body } = call;
    const written: TableAccess[] = [];
    const openTable = async (table: string) => {
      const tablePath = `${path.tablePath.slice(0, path.tablePath.lastIndexOf('/'))}/${table}`;
      const of: RowsPath = { ...path, table, tablePath, rest: { kind: 'table' } };
      const access = await deps.tableAccess.resolve(caller, of);
      call.used.push(of);
      if (access) written.push(access);
      return access && contextOf(call, await withUploadedFiles(deps.files, access, body, search), of);
    };
    const batch = runBatch({ ...shared, ...call, path: path.tablePath, openTable });
    return notifyFeeds(request, written, batch);
  }
}

function isForeignTableOutdated(error: unknown): boolean {
  return isTableOutdated(error) || sqlState(error) === '42501';
}

function refuseOutdated(error: unknown): never {
  throw isTableOutdated(error) ? fail('unavailable', {}, { cause: error }) : error;
}

const outdatedSchemaError = (cause: unknown) =>
  fail(
    'connector_unavailable',
    { detail: 'The data source has changed: an admin must refresh the schema of the connector.' },
    { cause },
  );

const hasBody = ({ rest }: RowsPath) => rest.kind !== 'restore' || rest.id === null;

function authorizeCall(access: TableAccess, method: string, path: RowsPath): void {
  requireMethod(method, path);
  // The right to write the column is checked with the upload.
  if (path.rest.kind === 'files') return;
  requireAction(
    access,
    isUndo(access, path) ? 'update' : method === 'GET' || method === 'HEAD' ? 'read' : changeMethods[method],
  );
}

/** A request that only updated rows is undone without the right to insert any. */
const isUndo = ({ access }: TableAccess, { rest }: RowsPath) =>
  rest.kind === 'restore' &&
  rest.id === null &&
  !access.actions.has('insert') &&
  access.actions.has('update');

function requireMethod(method: string, { rest, schema }: RowsPath): void {
  // Rows of a connector are changed one by one.
  const isWhole = schema !== undefined && rest.kind === 'table';
  const allowed = isWhole ? ['GET', 'HEAD', 'POST'] : allowedMethods[rest.kind];
  if (!allowed.includes(method)) throw fail('method_not_allowed', { headers: { allow: allowed.join(', ') } });
}

const changeMethods: Record<string, ChangeAction> = { POST: 'insert', PATCH: 'update', DELETE: 'delete' };

/** Not async, which saves a promise in most calls. */
function dispatch(ctx: RowsCtx, { rest }: RowsPath): Promise<FastPathResponse> {
  const { method } = ctx.request;
  const isRead = method === 'GET' || method === 'HEAD';
  if (rest.kind === 'row' && isRead) return getRow(ctx, rest.id);
  if (rest.kind === 'count') return countRows(ctx);
  if (rest.kind === 'history') return listHistory(ctx, rest.id);
  if (rest.kind === 'trash') return listTrash(ctx);
  if (rest.kind === 'restore') return restoreRows(ctx, rest.id);
  if (rest.kind === 'aggregate')
    return aggregateRows(ctx, preferredFormat(ctx.request) === 'csv' ? 'csv' : 'json');
  const recorded = (response: FastPathResponse) => recordAnswer(ctx, response);
  if (!isRead && ctx.writeDb)
    return writeForeignRow(ctx, ctx.writeDb, rest.kind === 'row' ? rest.id : null).then(recorded);
  if (rest.kind === 'table') {
    if (method === 'DELETE') return deleteRows(ctx);
    if (method === 'PATCH') return updateRows(ctx, receivedObject(ctx));
    if (!isRead) return insertRows(ctx);
    const format = preferredFormat(ctx.request);
    if (format === 'json' || (format === 'csv' && hasPaging(ctx.search))) return listRows(ctx, format);
    return exportRows(ctx, format);
  }
  if (rest.kind !== 'row') throw fail('not_found');
  const { dryRun } = parseQuery(ctx.search, 'change');
  if (method === 'DELETE') return deleteRow(ctx, rest.id, dryRun).then(recorded);
  return updateRow(ctx, rest.id, receivedObject(ctx), dryRun).then(recorded);
}

/** A body contains the row, or its values in a plan. */
function recordAnswer(ctx: RowsCtx, response: FastPathResponse): FastPathResponse {
  recordRows(ctx, response.body !== null && ctx.access.actions.has('read') ? 1 : 0);
  return response;
}

function receivedObject({ body }: RowsCtx): string {
  if (body.isJsonLines)
    throw fail('unsupported_media_type', { detail: 'Send the update as one JSON object.' });
  return body.received().text();
}

const allowedMethods: Record<RowsPath['rest']['kind'], readonly string[]> = {
  table: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  batch: ['POST'],
  count: ['GET', 'HEAD'],
  access: ['GET', 'HEAD'],
  aggregate: ['GET', 'HEAD'],
  files: ['POST'],
  file: ['GET', 'HEAD'],
  changes: ['GET', 'HEAD'],
  history: ['GET', 'HEAD'],
  trash: ['GET', 'HEAD'],
  restore: ['POST'],
  row: ['GET', 'HEAD', 'PATCH', 'DELETE'],
};

async function insertRows(ctx: RowsCtx): Promise<FastPathResponse> {
  const query = parseQuery(ctx.search, 'insert');
  const options = { dryRun: query.dryRun, key: parseIdempotencyKey(ctx.request) };
  const upsert = planUpsert(ctx.table, query.onConflict, parsePreferences(ctx.request).resolution);
  const batch = async (body: ReceivedBody) => {
    await ctx.body.countAsBatch(ctx.app.id);
    return insertBatch(ctx, body, { ...options, upsert });
  };
  const body = ctx.body.received();
  if (ctx.body.isJsonLines) return batch(body);
  const isLarge = body.size > rowBytesMax;
  const text = isLarge ? readFirstLines(body) : body.text();
  if (hasSeveralObjects(text)) return batch(body);
  if (isLarge)
    throw fail('payload_too_large', { detail: `The maximum size of a row is ${rowBytesMax} bytes.` });
  const response = await (upsert
    ? upsertRow(ctx, text, { ...options, upsert })
    : insertRow(ctx, text, options));
  // The plan of an insert shows what the caller sent.
  return options.dryRun ? response : recordAnswer(ctx, response);
}

function readFirstLines(body: ReceivedBody): string {
  let text = '';
  for (const piece of body.pieces()) {
    text += piece;
    if (text.trim().includes('\n')) break;
  }
  return text;
}
