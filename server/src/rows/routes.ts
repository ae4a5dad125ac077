import { batchBytesMax, jsonLinesMediaType, rowBytesMax } from '@svc/contract/rows.ts';
import type { RowDatabase } from '../drivers/row-database/row-database.ts';
import type { Credential } from '../identity/find-credential.ts';
import { createByteBudget } from '../plumbing/byte-budget.ts';
import type { Caller } from '../plumbing/context.ts';
import type { DirectAnswer, DirectHandle } from '../plumbing/direct.ts';
import { fail } from '../plumbing/problem.ts';
import { createBatchLimit } from './batch-limit.ts';
import type { RowsCtx } from './context.ts';
import { countRows } from './count-rows.ts';
import { createCursors } from './cursor.ts';
import { deleteRow } from './delete-row.ts';
import { createExports, exportRows } from './export-rows.ts';
import { getRow } from './get-row.ts';
import { insertBatch } from './insert-batch.ts';
import { insertRow } from './insert-row.ts';
import { isSeveralLines } from './jsonl.ts';
import { listRows } from './list-rows.ts';
import { parseQuery } from './parse-query.ts';
import { pathOf, type RowsPath } from './path.ts';
import type { Reach, Reached } from './reach.ts';
import { failureOfRow, isOutdated } from './row-errors.ts';
import { createSent } from './sent.ts';
import type { SentBody } from './sent-body.ts';
import { updateRow } from './update-row.ts';
import { upsertRow } from './upsert-row.ts';
import { planUpsert } from './upsert-rows.ts';
import { idempotencyKeyOf, preferencesOf } from './write-options.ts';

export interface RowsParts {
  rowDb: RowDatabase;
  findCredential: (request: Request) => Promise<Credential | null>;
  reach: Reach;
  cursorKey: string;
}

export const rowsPrefix = '/data/';
/** Of all bodies that are arriving or being stored; while it is stored, one counts twice. */
const bodiesBytesMax = 32 * 1024 * 1024;
const waitMsMax = 30_000;

/** Answers `/data/{tenant}/{app}/{table}…`: who asks, of which table, with which right, then what. */
export function createRows(parts: RowsParts): DirectHandle {
  const cursors = createCursors(parts.cursorKey);
  const batchLimit = createBatchLimit(parts.rowDb);
  const budget = createByteBudget({ bytesMax: bodiesBytesMax, waitMsMax });
  const exports = createExports();

  return {
    prefix: rowsPrefix,
    async answer(request, path, search, { patient }) {
      const place = pathOf(path);
      const caller = await callerOf(request);
      if (place === 'malformed') throw fail('validation_failed', { detail: 'The path is not well encoded.' });
      if (!place) throw fail('not_found');
      const sent = createSent(request, { batchLimit, budget, callerId: caller.userId });
      try {
        // A body may be long on its way: whether its sender may is asked before it is taken in, and once it is there.
        if (request.method === 'POST' || request.method === 'PATCH') {
          const reached = await reachedBy(caller, place);
          mayCall(reached, request.method, place);
          if (sent.isLines && request.method === 'POST') await sent.countAsBatch(reached.app.id);
          await sent.receive(request.method === 'POST' ? batchBytesMax : rowBytesMax);
          await callerOf(request);
        }
        return await tryTwice(caller, place, (reached) => {
          mayCall(reached, request.method, place);
          return dispatch(
            {
              app: reached.app,
              table: reached.table,
              access: reached.access,
              caller,
              rowDb: parts.rowDb.of(reached.app.id),
              cursors,
              sent,
              exports,
              request,
              path: place.tablePath,
              search,
              patient,
              stillReached: async () => {
                const again =
                  (await parts.findCredential(request)) && (await parts.reach.find(caller, place));
                return !!again && isSameView(again, reached);
              },
            },
            place,
          );
        });
      } finally {
        sent.close();
      }
    },
  };

  async function callerOf(request: Request): Promise<Caller> {
    const credential = await parts.findCredential(request);
    if (!credential) throw fail('unauthenticated');
    return credential.caller;
  }

  async function reachedBy(caller: Caller, place: RowsPath): Promise<Reached> {
    const reached = await parts.reach.find(caller, place);
    if (!reached) throw fail('not_found');
    return reached;
  }

  /** Once more where the table turns out to have changed since it was looked up. */
  async function tryTwice(
    caller: Caller,
    place: RowsPath,
    call: (reached: Reached) => Promise<DirectAnswer>,
  ): Promise<DirectAnswer> {
    for (let attempt = 1; ; attempt++) {
      const reached = await reachedBy(caller, place);
      try {
        return await call(reached);
      } catch (error) {
        if (isOutdated(error) && attempt === 1) {
          parts.reach.forget(caller, place);
          continue;
        }
        const failure = failureOfRow(error, reached.table);
        if (failure) throw failure;
        if (isOutdated(error)) throw fail('unavailable', {}, { cause: error });
        throw error;
      }
    }
  }
}

/** The same rows: whoever now sees only their own is not to be sent those of others. */
function isSameView(again: Reached, reached: Reached): boolean {
  return (
    again.access.read &&
    again.access.ownRowsOf === reached.access.ownRowsOf &&
    again.table.catalogue.id === reached.table.catalogue.id
  );
}

function mayCall({ access, app }: Reached, method: string, { rest }: RowsPath): void {
  if (!allowedMethods[rest.kind].includes(method)) {
    throw fail('method_not_allowed', { headers: { allow: allowedMethods[rest.kind].join(', ') } });
  }
  const isRead = method === 'GET' || method === 'HEAD';
  // That the table is there is no secret to whoever has a part in it.
  if (isRead ? !access.read : !access.write) throw fail('forbidden');
  if (!isRead && app.record === 'archived') throw fail('app_not_active');
}

async function dispatch(ctx: RowsCtx, { rest }: RowsPath): Promise<DirectAnswer> {
  const { method } = ctx.request;
  const isRead = method === 'GET' || method === 'HEAD';
  if (rest.kind === 'count') return countRows(ctx);
  if (rest.kind === 'table') {
    if (!isRead) return insert(ctx);
    return acceptsLines(ctx.request) ? exportRows(ctx) : listRows(ctx);
  }
  if (isRead) return getRow(ctx, rest.id);
  const { dryRun } = parseQuery(ctx.search, 'change');
  if (method === 'DELETE') return deleteRow(ctx, rest.id, dryRun);
  if (ctx.sent.isLines) throw fail('unsupported_media_type', { detail: 'A change is one JSON object.' });
  return updateRow(ctx, rest.id, ctx.sent.body().text(), dryRun);
}

const allowedMethods: Record<RowsPath['rest']['kind'], readonly string[]> = {
  table: ['GET', 'HEAD', 'POST'],
  count: ['GET', 'HEAD'],
  row: ['GET', 'HEAD', 'PATCH', 'DELETE'],
};

/** Asked for, and not as second choice: `q=0` refuses it, and whatever has more weight goes first. */
function acceptsLines(request: Request): boolean {
  const accept = request.headers.get('accept');
  if (accept === null || !accept.includes(jsonLinesMediaType)) return false;
  const weights = new Map(
    accept.split(',').map((item) => {
      const [type = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return [type, weight === undefined ? 1 : Number(weight.slice(2))] as const;
    }),
  );
  const lines = weights.get(jsonLinesMediaType) ?? 0;
  return lines > 0 && lines >= (weights.get('application/json') ?? 0);
}

async function insert(ctx: RowsCtx): Promise<DirectAnswer> {
  const query = parseQuery(ctx.search, 'insert');
  const options = { dryRun: query.dryRun, key: idempotencyKeyOf(ctx.request) };
  const upsert = planUpsert(ctx.table, query.onConflict, preferencesOf(ctx.request).resolution);
  const batch = async (body: SentBody) => {
    await ctx.sent.countAsBatch(ctx.app.id);
    return insertBatch(ctx, body, { ...options, upsert });
  };
  const body = ctx.sent.body();
  if (ctx.sent.isLines) return batch(body);
  const isLarge = body.size > rowBytesMax;
  const text = isLarge ? firstLines(body) : body.text();
  if (isSeveralLines(text)) return batch(body);
  if (isLarge) throw fail('payload_too_large', { detail: `A row may be at most ${rowBytesMax} bytes.` });
  return upsert ? upsertRow(ctx, text, { ...options, upsert }) : insertRow(ctx, text, options);
}

/** Enough of it to see whether it is several lines. */
function firstLines(body: SentBody): string {
  let text = '';
  for (const piece of body.pieces()) {
    text += piece;
    if (text.trim().includes('\n')) break;
  }
  return text;
}
