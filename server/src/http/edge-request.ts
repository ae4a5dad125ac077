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

/**
 * One frozen `headers` object per file, so that listeners can cache its bytes. No `Date` or `Connection` in
 * it; `content-length` is set unless the body is a stream.
 */
export interface EdgeResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Values of `set-cookie`, each a line of its own. */
  cookies?: readonly string[];
  body: Uint8Array | ReadableStream<Uint8Array> | null;
}

/** Not a promise where the response is cached: the listener then sends it at once. */
export type EdgeResult = EdgeResponse | Promise<EdgeResponse>;

export interface AppProxy {
  /** Undefined: upgraded to a WebSocket. */
  proxy(request: ProxyRequest): Promise<ProxyResponse | undefined>;
}

export interface ProxyResponse {
  status: number;
  headers: Headers;
  body: EdgeResponse['body'];
}

export interface ProxyRequest {
  request: Pick<Request, 'headers' | 'body' | 'signal'>;
  clientAddress: string;
  isStopping(): boolean;
  disableTimeout(): void;
  upgrade(ends: WebSocketCallbacks, headers: Record<string, string>): boolean;
}

export interface Edge {
  serves(host: string): boolean;
  answer(request: EdgeRequest): EdgeResult | AppProxy | Promise<EdgeResponse | AppProxy>;
}
