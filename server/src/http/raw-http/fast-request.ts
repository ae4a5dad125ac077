import type { EdgeResponse } from '../edge-request.ts';
import type { FastPathInfo, FastPathRequest } from '../handlers.ts';
import type { RequestHead } from './parse-head.ts';
import type { RawRequest } from './raw-request.ts';

/** The rows of the platform, answered without the general server. */
export interface RowsListener {
  prefix: string;
  answers(head: RequestHead): boolean;
  answer(
    request: FastPathRequest,
    path: string,
    search: string,
    info: Omit<FastPathInfo, 'log'>,
  ): Promise<EdgeResponse>;
}

/** Larger bodies are passed on, because the general server receives them in pieces. */
const bodyBytesMax = 64 * 1024;
/** The general server normalizes URLs: others than these are passed on, so that both read the same path. */
const normalTarget = /^[\w!$&()*+,;=:@/%.~-]*$/;
const dotSegment = /\/(?:\.|%2e)/i;

export function isFastRequest({ request, body, isSpecial }: RequestHead): boolean {
  if (isSpecial || body === 'chunked' || body > bodyBytesMax || request.method === 'OPTIONS') return false;
  const { path, search } = request;
  return normalTarget.test(path) && normalTarget.test(search) && !dotSegment.test(path);
}

/** What handlers of rows use of a `Request`, without its cost. */
export class FastRequest implements FastPathRequest {
  readonly method: string;
  readonly headers: FastPathRequest['headers'];
  readonly received: Uint8Array<ArrayBuffer>;
  readonly #raw: RawRequest;
  #abort: AbortController | null = null;
  #isAborted = false;

  constructor(raw: RawRequest, body: Uint8Array) {
    this.#raw = raw;
    this.method = raw.method;
    // A copy: the bytes of the connection would live as long as the request.
    this.received = new Uint8Array(body);
    this.headers = {
      get: (name) => raw.header(name.toLowerCase()),
      has: (name) => raw.header(name.toLowerCase()) !== null,
    };
  }

  get url(): string {
    const { scheme, authority, path, search } = this.#raw;
    return `${scheme}://${authority}${path}${search === '' ? '' : `?${search}`}`;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.received.length === 0 ? null : new Blob([this.received]).stream();
  }

  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.received);
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isAborted) this.#abort.abort();
    return this.#abort.signal;
  }

  abort(): void {
    this.#isAborted = true;
    this.#abort?.abort();
  }
}
