import type { HeaderFields } from './headers.ts';
import type { WebSocketCallbacks } from './listener.ts';

export interface EdgeRequest {
  method: string;
  host: string;
  path: string;
  search: string;
  /** The name is lower case. Must be called as a method of its request. */
  header(name: string): string | null;
  scheme: 'http' | 'https';
  authority: string;
  requestId(): string;
}

/** One frozen object per file, so that listeners can cache its bytes. `content-length` is set unless `body` streams. */
export interface EdgeResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Headers of many responses: a constant object, whose bytes listeners cache. `headers` has none of its names. */
  common?: Readonly<Record<string, string>>;
  cookies?: readonly string[];
  body: Uint8Array | ReadableStream<Uint8Array> | null;
}

/** Not a promise where the response is cached: the listener then sends it at once. */
export type EdgeResult = EdgeResponse | Promise<EdgeResponse>;

export interface AppProxy {
  /** Undefined: the request has become a WebSocket. */
  proxy(request: ProxyRequest): Promise<EdgeResponse | undefined>;
}

export interface ProxyRequest {
  request: Pick<Request, 'body'> & { headers: HeaderFields; signal: StopSignal };
  clientAddress: string;
  isStopping(): boolean;
  disableTimeout(): void;
  upgrade(ends: WebSocketCallbacks, headers: Record<string, string>): boolean;
}

export type StopSignal = Pick<AbortSignal, 'aborted' | 'reason'> & {
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
};

/** An `AbortController` and its signal in one, without the cost of events. */
export class Stop implements StopSignal {
  aborted = false;
  reason: unknown;
  #listeners: (() => void)[] = [];

  abort(reason: unknown = new Error('The request was aborted.')): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const listener of this.#listeners.splice(0)) listener();
  }

  addEventListener(_: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }
}

export interface Edge {
  serves(host: string): boolean;
  answer(request: EdgeRequest): EdgeResult | AppProxy | Promise<EdgeResponse | AppProxy>;
}
