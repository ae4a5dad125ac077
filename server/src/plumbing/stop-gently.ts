import { untilQuiet } from './until-quiet.ts';
import type { BunServer } from './web-sockets.ts';

/**
 * Stops listening, waits for the requests under way and closes what is left. Bun's own promise waits for idle
 * connections too, which clients keep open for long: so `lingerMs` without a request is what ends it.
 */
export async function stopGently(
  server: BunServer,
  times: { graceMs: number; lingerMs: number },
): Promise<void> {
  void server.stop(false);
  await untilQuiet(() => server.pendingRequests > 0, times);
  await server.stop(true);
}
