import { responseError, SvcError, SvcNetworkError } from './errors.ts';
import { backoffMs, rowUrl } from './rows.ts';

export interface Transport {
  exchange<T>(call: Call, read: Read<T>): Promise<T>;
}

export type Read<T> = (response: Response, release: () => void) => Promise<T>;

export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: readonly (readonly [name: string, value: string])[];
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  /** `repeat`: the request is idempotent and may be retried after a network error. */
  onFault: 'repeat' | 'give_up';
  signal?: AbortSignal | undefined;
  isStream?: boolean;
}

export interface Credential {
  headers(): Promise<Record<string, string>>;
  renew?(refused: Record<string, string>): Promise<boolean>;
}

export interface TransportOptions {
  baseUrl: string;
  credential: Credential;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  timeoutMs: number;
  retriesMax: number;
}

const waitSecondsMax = 60;
const firstPauseMs = 200;

export function createTransport(options: TransportOptions): Transport {
  return {
    async exchange(call, read) {
      const state = {
        triesLeft: call.onFault === 'repeat' ? options.retriesMax : 0,
        renewed: false,
        tries: 0,
      };
      for (;;) {
        const headers = { ...call.headers, ...(await options.credential.headers()) };
        try {
          return await once(options, call, headers, read);
        } catch (error) {
          const pauseMs = await pauseAfter(options, state, headers, error);
          if (pauseMs === null) throw error;
          if (pauseMs > 0) await pause(pauseMs, call.signal);
        }
      }
    },
  };
}

async function pauseAfter(
  { credential }: TransportOptions,
  state: { triesLeft: number; renewed: boolean; tries: number },
  headers: Record<string, string>,
  error: unknown,
): Promise<number | null> {
  if (error instanceof SvcError && error.code === 'unauthenticated' && !state.renewed) {
    state.renewed = true;
    return (await credential.renew?.(headers)) ? 0 : null;
  }
  const isFault = error instanceof SvcNetworkError;
  const isBusy =
    error instanceof SvcError &&
    // `idempotency_in_progress`: the previous attempt still runs, and a retry returns its result.
    (error.status === 429 || error.status === 503 || error.code === 'idempotency_in_progress');
  if ((!isFault && !isBusy) || state.triesLeft === 0) return null;
  const retryAfterSeconds = isBusy ? (error.retryAfter ?? 0) : 0;
  if (retryAfterSeconds > waitSecondsMax) return null;
  state.triesLeft--;
  // Jitter, so that many rejected clients do not retry at the same moment.
  return (
    Math.max(retryAfterSeconds * 1000, backoffMs(state.tries++, firstPauseMs, waitSecondsMax * 1000)) +
    Math.random() * firstPauseMs
  );
}

async function once<T>(
  options: TransportOptions,
  call: Call,
  headers: Record<string, string>,
  read: Read<T>,
): Promise<T> {
  call.signal?.throwIfAborted();
  const stop = new AbortController();
  const onAbort = () => stop.abort(call.signal?.reason);
  call.signal?.addEventListener('abort', onAbort);
  const release = () => call.signal?.removeEventListener('abort', onAbort);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    stop.abort();
  }, options.timeoutMs);
  try {
    const response = await options.fetch(rowUrl(options.baseUrl + call.path, call), {
      method: call.method,
      headers,
      signal: stop.signal,
      // The credential is in a header, so cookies are not needed.
      credentials: 'omit',
      ...(call.body === undefined ? {} : { body: call.body }),
    });
    if (!response.ok && response.status !== 304) throw responseError(response, await response.text());
    if (call.isStream) clearTimeout(timer);
    const value = await read(response, release);
    if (!call.isStream) release();
    return value;
  } catch (error) {
    release();
    if (error instanceof SvcError) throw error;
    call.signal?.throwIfAborted();
    const seconds = options.timeoutMs / 1000;
    throw new SvcNetworkError(
      timedOut ? `No response within ${seconds} seconds.` : 'The server could not be reached.',
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
