/**
 * Calls of the row API for one table, on the level of JSON text so that no digit is lost. The typed client, the command
 * line and the console build on it; each brings its own way to send a request.
 */

import { parseLossless } from '@svc/contract/json.ts';
import { answerError, ProblemError, UnexpectedAnswerError } from '@svc/contract/problem.ts';
import { isRowSegment, rowSegment } from '@svc/contract/row-path.ts';
import { jsonLinesMediaType } from '@svc/contract/rows.ts';

export type QueryPair = readonly [name: string, value: string];

export interface RowCall {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  of?:
    | { id: string; below?: 'history' | 'restore' | `files/${string}` }
    | 'files'
    | 'count'
    | 'aggregate'
    | 'changes'
    | 'trash'
    | 'restore';
  query?: readonly QueryPair[];
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  signal?: AbortSignal;
}

export interface RowAnswer {
  text: string;
  readonly body: unknown;
  headers: Headers;
}

export interface RowsClient {
  call(call: RowCall): Promise<RowAnswer>;
  open(call: RowCall): Promise<Response>;
}

export interface RowsClientOptions {
  url: string;
  fetch(url: string, init: RequestInit): Promise<Response>;
  fetchStream?(url: string, init: RequestInit): Promise<Response>;
}

export function createRowsClient({ url, fetch, fetchStream = fetch }: RowsClientOptions): RowsClient {
  const send = async (call: RowCall, sendRequest: RowsClientOptions['fetch']): Promise<Response> => {
    const target = rowUrl(url, call);
    const response = await sendRequest(target, rowRequest(call));
    if (response.ok) return response;
    throw answerError(response, target, parseOrUndefined(await response.text()));
  };
  return {
    call: async (call) => {
      const response = await send(call, fetch);
      const text = await response.text();
      const { headers } = response;
      return { text, headers, body: parseBody(response, text) };
    },
    open: (call) => send(call, fetchStream),
  };
}

export function rowUrl(tableUrl: string, { of, query = [] }: Pick<RowCall, 'of' | 'query'>): string {
  const search = new URLSearchParams(query.map(([name, value]) => [name, value])).toString();
  return `${tableUrl}${rowSuffix(of)}${search === '' ? '' : `?${search}`}`;
}

function rowSuffix(of: RowCall['of']): string {
  if (of === undefined) return '';
  if (typeof of === 'string') return `/_${of}`;
  if (!isRowSegment(of.id)) throw new RangeError(`A URL cannot end with the id \`${of.id}\`.`);
  return `/${rowSegment(of.id)}${of.below === undefined ? '' : `/_${of.below}`}`;
}

function rowRequest({ method = 'GET', headers, body, signal }: RowCall): RequestInit {
  const contentType: Record<string, string> =
    body === undefined ? {} : { 'content-type': 'application/json' };
  return { method, headers: { accept: 'application/json', ...contentType, ...headers }, body, signal };
}

function parseBody(response: Response, text: string): unknown {
  try {
    return text === '' ? undefined : parseLossless(text);
  } catch {
    throw new UnexpectedAnswerError(response.status, response.url, response.headers.get('x-request-id'));
  }
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface Conflict {
  column: string;
  resolution: 'merge' | 'ignore';
}

export interface RowBatch {
  body: string | Uint8Array<ArrayBuffer>;
  /** Makes repeated requests store the batch once. Absent in a dry run. */
  key?: string;
  conflict?: Conflict | null;
  dryRun?: boolean;
}

export function batchCall({ body, key, conflict, dryRun }: RowBatch): RowCall {
  const query: QueryPair[] = [];
  const headers: Record<string, string> = { 'content-type': jsonLinesMediaType };
  if (conflict) {
    query.push(['on_conflict', conflict.column]);
    headers.prefer = `resolution=${conflict.resolution}-duplicates`;
  }
  if (dryRun) query.push(['dry_run', 'true']);
  if (key !== undefined) headers['idempotency-key'] = key;
  return { method: 'POST', query, headers, body };
}

export interface StoredRows {
  inserted: number;
  updated: number;
}

export interface BatchRetry extends Omit<RetryOptions, 'isTransient'> {
  signal?: () => AbortSignal;
  isNetworkError?(error: unknown): boolean;
}

export async function insertBatch(rows: RowsClient, batch: RowBatch, retry: BatchRetry): Promise<StoredRows> {
  const isTransient = (error: unknown) =>
    isTransientAnswer(error) || (retry.isNetworkError?.(error) ?? false);
  const { body } = await withRetries(() => rows.call({ ...batchCall(batch), signal: retry.signal?.() }), {
    ...retry,
    isTransient,
  });
  const { inserted = 0, updated = 0 } = body as Partial<StoredRows>;
  return { inserted, updated };
}

function isTransientAnswer(error: unknown): boolean {
  if (error instanceof UnexpectedAnswerError) return [502, 503, 504].includes(error.status);
  const transientCodes: readonly string[] = ['unavailable', 'idempotency_in_progress', 'request_timeout'];
  return error instanceof ProblemError && transientCodes.includes(error.problem.code);
}

export interface RetryOptions {
  retriesMax: number;
  isTransient(error: unknown): boolean;
  pause(ms: number, error: unknown, isRateLimit: boolean): Promise<void>;
}

const rateLimitSecondsDefault = 5;

/** Retries with exponential backoff. A rate limit is not a failure: it is waited for and not counted. */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let retries = 0; ; ) {
    try {
      return await attempt();
    } catch (error) {
      const isRateLimit = error instanceof ProblemError && error.problem.status === 429;
      if (isRateLimit) {
        await options.pause((error.retryAfterSeconds ?? rateLimitSecondsDefault) * 1000, error, true);
        continue;
      }
      if (!options.isTransient(error) || retries >= options.retriesMax) throw error;
      retries += 1;
      await options.pause(backoffMs(retries, 250, 30_000), error, false);
    }
  }
}

export function backoffMs(retries: number, base: number, max: number): number {
  return Math.min(max, base * 2 ** retries);
}
