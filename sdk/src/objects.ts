import { responseError, SvcNetworkError } from './errors.ts';
import type { CallOptions } from './query.ts';
import { readJson } from './read-json.ts';
import { limitSilence, uploadMsMax } from './time-limits.ts';
import type { Call, Transport } from './transport.ts';

export interface StoredObject {
  key: string;
  size: number;
  content_type: string;
  sha256: string;
  created_at: string;
  updated_at: string;
}

export interface ObjectList {
  items: StoredObject[];
  /** Prefixes that `delimiter` groups, like folders. */
  prefixes: string[];
  nextCursor: string | null;
}

export interface ListObjectsOptions extends CallOptions {
  prefix?: string;
  delimiter?: string;
  limit?: number;
  cursor?: string;
}

export interface PutOptions extends CallOptions {
  contentType?: string;
}

export interface ObjectUrl extends StoredObject {
  url: string;
  expires_at: string;
}

export type ObjectBody = string | Blob | ArrayBuffer | Uint8Array<ArrayBuffer>;

interface ObjectsDeps {
  transport: Transport;
  baseUrl: string;
  path: string;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  timeoutMs: number;
}

/** The objects of the app's storage, for programs that act for the app. People who are signed in to the app cannot use it. */
export class Objects {
  readonly #deps: ObjectsDeps;

  constructor(deps: ObjectsDeps) {
    this.#deps = deps;
  }

  async list(options: ListObjectsOptions = {}): Promise<ObjectList> {
    const { prefix, delimiter, limit, cursor, signal } = options;
    const query = Object.entries({ prefix, delimiter, limit, cursor }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as const],
    );
    const { items, prefixes, next_cursor } = await this.#call<{
      items: StoredObject[];
      prefixes: string[];
      next_cursor: string | null;
    }>({ method: 'GET', path: '/objects', query, onFault: 'repeat', signal });
    return { items, prefixes, nextCursor: next_cursor };
  }

  /** Replaces an object with the same key. */
  async put(key: string, body: ObjectBody, options: PutOptions = {}): Promise<StoredObject> {
    const type = options.contentType ?? (body instanceof Blob && body.type !== '' ? body.type : undefined);
    const { put_url, headers } = await this.#call<{ put_url: string; headers: Record<string, string> }>({
      method: 'POST',
      path: '/upload-url',
      body: JSON.stringify({ key, ...(type === undefined ? {} : { content_type: type }) }),
      headers: { 'content-type': 'application/json' },
      onFault: 'repeat',
      signal: options.signal,
    });
    const init = { method: 'PUT', headers, body, signal: options.signal };
    return readJson(await this.#send(put_url, init, uploadMsMax));
  }

  /** The response is a stream: `await response.text()`, `.bytes()`, `.json()` … */
  async get(key: string, options: CallOptions = {}): Promise<Response> {
    const { url } = await this.url(key, options);
    return this.#send(url, { signal: options.signal }, this.#deps.timeoutMs);
  }

  /** A URL that lets anybody download the object, for at most an hour. */
  url(key: string, options: CallOptions & { expiresIn?: number } = {}): Promise<ObjectUrl> {
    const query = [['key', key] as const];
    const more = options.expiresIn === undefined ? [] : [['expires_in', String(options.expiresIn)] as const];
    return this.#call({
      method: 'GET',
      path: '/url',
      query: [...query, ...more],
      onFault: 'repeat',
      signal: options.signal,
    });
  }

  async delete(key: string, options: CallOptions = {}): Promise<void> {
    const call: Call = {
      method: 'DELETE',
      path: `${this.#deps.path}/objects`,
      query: [['key', key]],
      onFault: 'give_up',
      signal: options.signal,
    };
    await this.#deps.transport.exchange(call, async () => {});
  }

  #call<T>(call: Call): Promise<T> {
    return this.#deps.transport.exchange({ ...call, path: this.#deps.path + call.path }, readJson<T>);
  }

  /** Signed URLs have the address that people use; a program in a sandbox may have another one for the platform. */
  async #send(
    url: string,
    init: Omit<RequestInit, 'signal'> & CallOptions,
    startMsMax: number,
  ): Promise<Response> {
    const { pathname, search } = new URL(url);
    const { signal, ...rest } = init;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), startMsMax);
    const signals = signal ? [signal, late.signal] : [late.signal];
    const target = `${this.#deps.baseUrl}${pathname}${search}`;
    const answer = await this.#deps
      .fetch(target, { ...rest, signal: AbortSignal.any(signals), credentials: 'omit' })
      .catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw new SvcNetworkError(
          late.signal.aborted
            ? `No response within ${startMsMax / 1000} seconds.`
            : 'The server could not be reached.',
          { cause },
        );
      })
      .finally(() => clearTimeout(timer));
    const response = limitSilence(answer, this.#deps.timeoutMs);
    if (!response.ok) throw responseError(response, await response.text());
    return response;
  }
}
