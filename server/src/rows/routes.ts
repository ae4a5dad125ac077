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
import { exportRows } from './export-rows.ts';
import { getRow } from './get-row.ts';
import { insertBatch } from './insert-batch.ts';
import { insertRow } from './insert-row.ts';
import { asOneLine, isSeveralLines } from './jsonl.ts';
import { listRows } from './list-rows.ts';
import { parseQuery } from './parse-query.ts';
import { pathOf, type RowsPath } from './path.ts';
import type { Reach, Reached } from './reach.ts';
import { failureOfRow, isOutdated } from './row-errors.ts';
import { createSent } from './sent.ts';
import { SentBody } from './sent-body.ts';
import { updateRow } from './update-row.ts';
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
const bodiesBytesMax = 40 * 1024 * 1024;
const waitMsMax = 30_000;

/** Answers `/data/{tenant}/{app}/{table}…`: who asks, of which table, with which right, then what. */
export function createRows(parts: RowsParts): DirectHandle {
  const cursors = createCursors(parts.cursorKey);
  const batchLimit = createBatchLimit(parts.rowDb);
  const budget = createByteBudget({ bytesMax: bodiesBytesMax, waitMsMax });

  return {
    prefix: rowsPrefix,
    async answer(request, path, search, { patient }) {
      const credential = await parts.findCredential(request);
      if (!credential) throw fail('unauthenticated');
      const { caller } = credential;
      const place = pathOf(path);
      if (!place) throw fail('not_found');
      const sent = createSent(request, { batchLimit, budget });
      try {
        return await tryTwice(caller, place, (reached) =>
          dispatch(
            {
              app: reached.app,
              table: reached.table,
              access: reached.access,
              caller,
              rowDb: parts.rowDb,
              cursors,
              sent,
              request,
              path: place.tablePath,
              search,
              patient,
              stillReached: async () =>
                (await parts.findCredential(request)) !== null &&
                (await parts.reach.find(caller, place))?.access.read === true,
            },
            place,
          ),
        );
      } finally {
        sent.close();
      }
    },
  };

  /** Once more where the table turns out to have changed since it was looked up. */
  async function tryTwice(
    caller: Caller,
    place: RowsPath,
    call: (reached: Reached) => Promise<DirectAnswer>,
  ): Promise<DirectAnswer> {
    for (let attempt = 1; ; attempt++) {
      const reached = await parts.reach.find(caller, place);
      if (!reached) throw fail('not_found');
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

async function dispatch(ctx: RowsCtx, { rest }: RowsPath): Promise<DirectAnswer> {
  const { method } = ctx.request;
  const isRead = method === 'GET' || method === 'HEAD';
  if (!allowedMethods[rest.kind].includes(method)) {
    throw fail('method_not_allowed', { headers: { allow: allowedMethods[rest.kind].join(', ') } });
  }
  // That the table is there is no secret to whoever has a part in it.
  if (isRead ? !ctx.access.read : !ctx.access.write) throw fail('forbidden');
  if (!isRead && ctx.app.record === 'archived') throw fail('app_not_active');
  if (rest.kind === 'count') return countRows(ctx);
  if (rest.kind === 'table') {
    if (!isRead) return insert(ctx);
    return acceptsLines(ctx.request) ? exportRows(ctx) : listRows(ctx);
  }
  if (isRead) return getRow(ctx, rest.id);
  const { dryRun } = parseQuery(ctx.search, 'change');
  if (method === 'DELETE') return deleteRow(ctx, rest.id, dryRun);
  if (ctx.sent.isLines) throw fail('unsupported_media_type', { detail: 'A change is one JSON object.' });
  return updateRow(ctx, rest.id, (await ctx.sent.body(rowBytesMax)).text(), dryRun);
}

const allowedMethods: Record<RowsPath['rest']['kind'], readonly string[]> = {
  table: ['GET', 'HEAD', 'POST'],
  count: ['GET', 'HEAD'],
  row: ['GET', 'HEAD', 'PATCH', 'DELETE'],
};

function acceptsLines(request: Request): boolean {
  return request.headers.get('accept')?.includes(jsonLinesMediaType) === true;
}

async function insert(ctx: RowsCtx): Promise<DirectAnswer> {
  const query = parseQuery(ctx.search, 'insert');
  const options = { dryRun: query.dryRun, key: idempotencyKeyOf(ctx.request) };
  const upsert = planUpsert(ctx.table, query.onConflict, preferencesOf(ctx.request).resolution);
  const batch = async (body: SentBody) => {
    await ctx.sent.countAsBatch(ctx.app.id);
    // In memory once more while it is stored.
    await ctx.sent.keepMore(body.size);
    return insertBatch(ctx, body, { ...options, upsert });
  };
  if (ctx.sent.isLines) {
    // Counted before its body is taken in.
    await ctx.sent.countAsBatch(ctx.app.id);
    return batch(await ctx.sent.body(batchBytesMax));
  }
  const body = await ctx.sent.body(batchBytesMax);
  const isLarge = body.size > rowBytesMax;
  const text = isLarge ? firstLines(body) : body.text();
  if (isSeveralLines(text)) return batch(body);
  if (isLarge) throw fail('payload_too_large', { detail: `A row may be at most ${rowBytesMax} bytes.` });
  return upsert ? batch(SentBody.of(asOneLine(text))) : insertRow(ctx, text, options);
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
