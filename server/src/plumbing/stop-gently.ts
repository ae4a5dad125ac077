/**
 * Stops listening, waits for the requests under way and closes what is left. Bun's own promise waits for idle
 * connections too, which clients keep open for long: so `lingerMs` without a request is what ends it.
 */
export async function stopGently(
  server: Bun.Server<undefined>,
  { graceMs, lingerMs }: { graceMs: number; lingerMs: number },
): Promise<void> {
  void server.stop(false);
  const deadline = performance.now() + graceMs;
  let quietSince: number | null = null;
  while (performance.now() < deadline) {
    quietSince = server.pendingRequests > 0 ? null : (quietSince ?? performance.now());
    if (quietSince !== null && performance.now() - quietSince >= lingerMs) break;
    await Bun.sleep(lingerMs / 20);
  }
  await server.stop(true);
}
