/** Until nothing has been under way for `lingerMs`, or the time is over. */
export async function untilQuiet(
  isBusy: () => boolean,
  { graceMs, lingerMs }: { graceMs: number; lingerMs: number },
): Promise<void> {
  const deadline = performance.now() + graceMs;
  let quietSince: number | null = null;
  while (performance.now() < deadline) {
    quietSince = isBusy() ? null : (quietSince ?? performance.now());
    if (quietSince !== null && performance.now() - quietSince >= lingerMs) return;
    await Bun.sleep(lingerMs / 20);
  }
}
