import type { Logger } from 'pino';
import type { BunServer } from './listener.ts';

export interface PassThroughClient {
  address: string;
  scheme: 'http' | 'https';
}

export type RequestHandler = (request: Request, url: URL, info: RequestInfo) => Promise<Response>;

export interface RequestInfo {
  requestId: string;
  log: Logger;
  setRoute: (name: string) => void;
  clientAddress: string;
  extendTimeout?: () => void;
  responseHeaders?: Record<string, string> | undefined;
  /** Aborted when the client has received a timeout: nothing may be committed after that. */
  deadline: AbortSignal;
}

/** The members of `Request` that handlers of the fast path use; the raw listener creates no such object. */
export interface FastPathRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Pick<Headers, 'get' | 'has'>;
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  readonly signal: AbortSignal;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  readonly received?: Uint8Array<ArrayBuffer>;
}

/** For paths with thousands of requests a second: no URL object, timer or log line per request. */
export interface FastPathHandler {
  prefix: string;
  answer(
    request: FastPathRequest,
    path: string,
    search: string,
    info: FastPathInfo,
  ): Promise<FastPathResponse>;
}

export interface FastPathInfo {
  readonly requestId: string;
  extendTimeout(): void;
  clientAddress(): string;
  responseHeaders?: Record<string, string> | undefined;
}

export interface FastPathResponse {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ReadableStream | null;
}

export interface HostHandler {
  isPlatform(host: string): boolean;
  answer(
    request: Request,
    bun: BunServer,
    listener: ListenerInfo,
  ): Response | Promise<Response | undefined> | null;
}

export interface ListenerInfo {
  streamIdleSecondsMax: number;
  isStopping(): boolean;
  peer(request: Request, bun: BunServer): PassThroughClient;
}
