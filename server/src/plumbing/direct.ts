import type { Logger } from 'pino';

/**
 * The short way through the server, for what is asked thousands of times a second: no URL object, no timer and no log
 * line per request, one Response at the end. Limits of time are those of the statements behind it.
 */
export interface DirectHandle {
  /** Paths that begin with this go the short way. */
  prefix: string;
  answer(
    request: Request,
    /** As it was sent, still encoded. */
    path: string,
    /** Without the `?`. */
    search: string,
    info: DirectInfo,
  ): Promise<DirectAnswer>;
}

export interface DirectInfo {
  requestId: string;
  log: Logger;
  /** For answers that take their time: the connection may be silent for a while. */
  patient(): void;
}

export interface DirectAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ReadableStream | null;
}
