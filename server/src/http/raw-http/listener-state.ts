import type { WriteBuffer } from './output-queue.ts';
import type { PassThroughClients } from './pass-through.ts';
import type { Routes } from './route-request.ts';
import type { ResponseDeps } from './send-response.ts';

/** What the connections of a listener share. */
export interface ListenerState extends ResponseDeps, Routes {
  writeBuffer: WriteBuffer;
  /** Null: what is not answered here is refused. */
  passThroughClients: PassThroughClients | null;
  pendingResponses: number;
  pendingResponsesMax: number;
}

export const secondsMax = {
  head: 10,
  keepAlive: 72,
  /** Until the response is ready, and for a client that reads nothing. */
  response: 45,
  /** For a client that reads nothing, where the handler has set no limit. */
  stalled: 600,
  /** For a client to close after the half-close; what it sends meanwhile is dropped. */
  halfClose: 2,
  /** An idle connection to the general server is closed, well before that server does. */
  passThroughIdle: 5,
};
