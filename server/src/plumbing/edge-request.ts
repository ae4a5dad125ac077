import type { SocketEnds } from './web-sockets.ts';

/**
 * A request to a site, whichever listener it came by. Names of headers are given in small letters; `path` is as it was
 * sent, still encoded and without the query.
 */
export interface EdgeRequest {
  method: string;
  /** Of the Host header: small letters, without port and without a dot at its end. */
  host: string;
  path: string;
  /** Without the `?`; empty where there is none. */
  search: string;
  /** A method: to be called at its request, never taken off it. */
  header(name: string): string | null;
  /** `https` where the visitor's own connection is. */
  scheme: 'http' | 'https';
  /** Of the Host header, as sent, to build addresses that lead back here. */
  authority: string;
  /** As the answer's header will have it; made only when asked for. */
  requestId(): string;
}

/**
 * `headers` of files are made once per file and shared by all answers, so that a listener can keep what it makes of
 * them; nobody changes them. They hold no `Date` and no `Connection`; `content-length` is always there where the body
 * is no stream, also in answers to HEAD, whose body is null.
 */
export interface EdgeAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array | ReadableStream<Uint8Array> | null;
}

/** Not a promise where all is at hand: a listener answers at once then. */
export type EdgeAnswering = EdgeAnswer | Promise<EdgeAnswer>;

/** An app answers by itself: the request is passed on to it, whole. */
export interface AppAnswer {
  /** Undefined: it has become a WebSocket, and there is nothing to answer. */
  pass(whole: WholeRequest): Promise<Response | undefined>;
}

/** A request as it came, with what only the listener that has it can do. */
export interface WholeRequest {
  request: Request;
  /** Where it came from, as far as those in between are trusted. */
  clientAddress: string;
  isStopping(): boolean;
  /** From here on the connection may be silent: whoever passes the request on keeps the time. */
  patient(): void;
  /** Makes a WebSocket of it; false: it asked for none, or has gone. */
  upgrade(ends: SocketEnds, headers: Record<string, string>): boolean;
}

/** Everything behind a host that is no host of the platform itself. */
export interface Edge {
  /** Whether the host is a site's, or would be if there were one; all else is the platform's own. */
  serves(host: string): boolean;
  answer(request: EdgeRequest): EdgeAnswering | AppAnswer | Promise<EdgeAnswer | AppAnswer>;
}
