import type { BunServer } from './web-sockets.ts';

/** What answers before anything else where the host is not the platform's own. */
export interface HostHandle {
  /** Null: the platform's own. Asked with each request, so it says so quickly. Undefined: it became a WebSocket. */
  answer(
    request: Request,
    bun: BunServer,
    listener: HostListener,
  ): Response | Promise<Response | undefined> | null;
}

/** The same for all requests of a listener. */
export interface HostListener {
  /** How long a body may be silent that takes as long as it takes. */
  streamIdleSecondsMax: number;
  isStopping(): boolean;
  /** The other end of the connection, also where another listener of ours handed it over. */
  peerOf(request: Request, bun: BunServer): string;
}
