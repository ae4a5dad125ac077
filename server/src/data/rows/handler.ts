import { batchBytesMax, rowBytesMax } from '@svc/contract/rows.ts';
import type { AccessLog } from '../../access/log/access-log.ts';
import type { Caller } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { Failure, fail } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import type { RowPool } from '../../drivers/row-database/row-pool.ts';
import type { FastPathHandler, FastPathRequest, FastPathResponse } from '../../http/handlers.ts';
import { type CallerLimit, type CountExchange, createCallCounter } from '../../http/rate-limit.ts';
import { createByteBudget } from '../../http/read-body.ts';
import type { Credential } from '../../identity/credentials/find-credential.ts';
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
import type { TableAccess, TableAccessCache } from './table-access.ts';
import { planUpsert } from './upsert-rows.ts';
import { cascadesToOthers, requireAction } from './write-transaction.ts';

export interface RowsDeps {
  rowDb: RowPool;
  findCredential: (request: FastPathRequest) => Promise<Credential | null>;
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

export const rowsPrefix = '/data/';
/** Memory for all request bodies. A batch counts twice while it is stored. */
const bodiesBytesMax = 32 * 1024 * 1024;
const bodyWaitMsMax = 30_000;

export function createRowsHandler(deps: RowsDeps): FastPathHandler {
  const { cursors } = deps;
  const batchLimit = createBatchLimit(deps.rowDb);
  const budget = createByteBudget({ bytesMax: bodiesBytesMax, waitMsMax: bodyWaitMsMax });
  const exportLimit = createExportLimit();
  const exchange = deps.countExchange;
  const previewConflicts = createCallCounter(deps.now, exchange && { exchange, name: 'conflicts' });

  return {
    prefix: rowsPrefix,
    async answer(request, path, search, info) {
      const { extendTimeout } = info;
      const rowsPath = parseRowsPath(path);
      const credential = await deps.findCredential(request);
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
      const body = createRequestBody(request, { batchLimit, budget, callerId: caller.userId });
      const opened: RowsPath[] = [];
      const ownRows = ({ app, table }: TableAccess) => deps.rowDb.of(app.id, table.catalogue.tenantId);
      const contextOf = (access: TableAccess, of: RowsPath): RowsCtx => ({
        app: access.app,
        table: access.table,
        exportTable: access.exportTable,
        access: access.access,
        refusal: access.refusal,
        caller,
        rowDb: access.rowDb ?? ownRows(access),
        ownDb: ownRows(access),
        writeDb: access.writeDb,
        cursors,
        body,
        exportLimit,
        previewConflicts,
        request,
        path: of.tablePath,
        search,
        requestId: info.requestId,
        extendTimeout,
        recordRead: createRecordRead(deps.accessLog, access, { caller, requestId: info.requestId }),
        currentAccess: () => currentAccess(of),
        openRelated: async (table) => {
          const path: RowsPath = { ...of, table };
          opened.push(path);
          const found = await openVisible(caller, path);
          if (!found) return null;
          const recordRead = createRecordRead(deps.accessLog, found, { caller, requestId: info.requestId });
          return { table: found.table, recordRead, isGoverned: found.governed !== undefined };
        },
        hasSameAccess: async () => {
          const now = await currentAccess(of);
          return !!now && hasSameView(now, access);
        },
      });
      const currentAccess = async (of: RowsPath) =>
        (await deps.findCredential(request)) && (await deps.tableAccess.resolve(caller, of));
      try {
        if (rowsPath.rest.kind === 'batch') {
          requireMethod(request.method, rowsPath);
          await body.receive(batchBytesMax);
          await authenticate(request);
          return await answerBatch(
            { caller, body, request, search, requestId: info.requestId },
            rowsPath,
            contextOf,
          );
        }
        // An upload may take long: authorization is checked before it is read and once more afterwards.
        if ((request.method === 'POST' || request.method === 'PATCH') && hasBody(rowsPath)) {
          const access = await requireAccess(caller, rowsPath);
          authorizeCall(access, request.method, rowsPath);
          if (body.isJsonLines && request.method === 'POST') await body.countAsBatch(access.app.id);
          await body.receive(request.method === 'POST' ? batchBytesMax : rowBytesMax);
          await authenticate(request);
        }
        const response = await retryIfOutdated(caller, rowsPath, opened, async (access) => {
          authorizeCall(access, request.method, rowsPath);
          const { rest } = rowsPath;
          if (rest.kind === 'changes') return followRows(contextOf(access, rowsPath), deps.feeds);
          if (rest.kind === 'files') return signFile(contextOf(access, rowsPath), deps.files);
          if (rest.kind === 'file')
            return sendFile(contextOf(access, rowsPath), deps.files, { ...rest, extendTimeout });
          const isWritten = ['POST', 'PATCH'].includes(request.method) && hasBody(rowsPath);
          const given = isWritten ? await withUploadedFiles(deps.files, access, body, search) : access;
          return notifyFeeds(request, [access], dispatch(contextOf(given, rowsPath), rowsPath));
        });
        return withPreferenceApplied(request, response);
      } finally {
        body.close();
      }
    },
  };

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

  async function authenticate(request: FastPathRequest): Promise<Caller> {
    const credential = await deps.findCredential(request);
    if (!credential) throw fail('unauthenticated');
    return credential.caller;
  }

  async function requireAccess(caller: Caller, path: RowsPath): Promise<TableAccess> {
    const access = await deps.tableAccess.resolve(caller, path);
    if (!access) throw fail('not_found');
    return access;
  }

  async function openVisible(caller: Caller, path: RowsPath): Promise<TableAccess | null> {
    const access = await deps.tableAccess.resolve(caller, path);
    return access?.access.actions.has('read') ? access : null;
  }

  async function answerBatch(
    call: Pick<RowsCtx, 'caller' | 'body' | 'request' | 'search' | 'requestId'>,
    path: RowsPath,
    contextOf: (access: TableAccess, of: RowsPath) => RowsCtx,
  ): Promise<FastPathResponse> {
    for (let attempt = 1; ; attempt++) {
      const used: RowsPath[] = [];
      const written: TableAccess[] = [];
      const openTable = async (table: string) => {
        const tablePath = `${path.tablePath.slice(0, path.tablePath.lastIndexOf('/'))}/${table}`;
        const of: RowsPath = { ...path, table, tablePath, rest: { kind: 'table' } };
        const access = await deps.tableAccess.resolve(call.caller, of);
        used.push(of);
        if (access) written.push(access);
        return access && contextOf(await withUploadedFiles(deps.files, access, call.body, call.search), of);
      };
      try {
        const batch = runBatch({ ...call, previewConflicts, path: path.tablePath, openTable });
        return await notifyFeeds(call.request, written, batch);
      } catch (error) {
        if (!isTableOutdated(error)) throw error;
        if (attempt > 1) throw fail('unavailable', {}, { cause: error });
        for (const of of used) deps.tableAccess.invalidate(call.caller, of);
      }
    }
  }

  async function retryIfOutdated(
    caller: Caller,
    path: RowsPath,
    opened: readonly RowsPath[],
    call: (access: TableAccess) => Promise<FastPathResponse>,
  ): Promise<FastPathResponse> {
    for (let attempt = 1; ; attempt++) {
      const access = await requireAccess(caller, path);
      try {
        return await call(access);
      } catch (error) {
        if (isTableOutdated(error) && attempt === 1) {
          for (const each of [path, ...opened]) deps.tableAccess.invalidate(caller, each);
          continue;
        }
        const failure = error instanceof Failure ? error : rowError(error, access.table);
        if (failure)
          throw await withVisibleNames(failure, access.table, (table) =>
            openVisible(caller, { ...path, table }),
          );
        if (access.rowDb && isForeignTableOutdated(error)) throw outdatedSchemaError(error);
        if (isTableOutdated(error)) throw fail('unavailable', {}, { cause: error });
        throw error;
      }
    }
  }
}

function isForeignTableOutdated(error: unknown): boolean {
  return isTableOutdated(error) || sqlState(error) === '42501';
}

const outdatedSchemaError = (cause: unknown) =>
  fail(
    'connector_unavailable',
    { detail: 'The data source has changed: an admin must refresh the schema of the connector.' },
    { cause },
  );

const hasBody = ({ rest }: RowsPath) => rest.kind !== 'restore' || rest.id === null;

function hasSameView(now: TableAccess, before: TableAccess): boolean {
  return (
    now.access === before.access ||
    (now.table.catalogue.id === before.table.catalogue.id && isDeepEqual(exportView(now), exportView(before)))
  );
}

const exportView = ({ exportTable: { view } }: TableAccess) => ({ rows: view.rows, columns: view.columns });

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

async function dispatch(ctx: RowsCtx, { rest }: RowsPath): Promise<FastPathResponse> {
  const { method } = ctx.request;
  const isRead = method === 'GET' || method === 'HEAD';
  if (rest.kind === 'count') return countRows(ctx);
  if (rest.kind === 'history') return listHistory(ctx, rest.id);
  if (rest.kind === 'trash') return listTrash(ctx);
  if (rest.kind === 'restore') return restoreRows(ctx, rest.id);
  if (rest.kind === 'aggregate')
    return aggregateRows(ctx, preferredFormat(ctx.request) === 'csv' ? 'csv' : 'json');
  if (!isRead && ctx.writeDb)
    return recordAnswer(ctx, await writeForeignRow(ctx, ctx.writeDb, rest.kind === 'row' ? rest.id : null));
  if (rest.kind === 'table') {
    if (method === 'DELETE') return deleteRows(ctx);
    if (method === 'PATCH') return updateRows(ctx, receivedObject(ctx));
    if (!isRead) return insertRows(ctx);
    const format = preferredFormat(ctx.request);
    if (format === 'json' || (format === 'csv' && hasPaging(ctx.search))) return listRows(ctx, format);
    return exportRows(ctx, format);
  }
  if (rest.kind !== 'row') throw fail('not_found');
  if (isRead) return getRow(ctx, rest.id);
  const { dryRun } = parseQuery(ctx.search, 'change');
  if (method === 'DELETE') return recordAnswer(ctx, await deleteRow(ctx, rest.id, dryRun));
  return recordAnswer(ctx, await updateRow(ctx, rest.id, receivedObject(ctx), dryRun));
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
