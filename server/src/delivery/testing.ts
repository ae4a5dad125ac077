import { patientMs } from '../../../scripts/patience.ts';
import { useFixture } from '../../../scripts/use-fixture.ts';
import { type TestDatabase, useTestDatabase } from '../testing.ts';

/** A database and what `start` opens on it, for one test file: opened before its tests, closed after them. */
export function useEnv<T extends { stop(): Promise<unknown> }>(
  start: (database: TestDatabase) => Promise<T>,
) {
  const database = useTestDatabase();
  const env = useFixture(
    () => start(database),
    (it) => it.stop(),
  );
  return { database, env };
}

/** Polls until the condition holds, by default until the result is truthy. */
export async function until<T>(
  poll: () => Promise<T>,
  isDone: (value: T) => unknown = Boolean,
): Promise<Exclude<T, null | undefined | false>> {
  const deadline = performance.now() + patientMs(30_000);
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const value = await poll();
    if (isDone(value)) return value as Exclude<T, null | undefined | false>;
    if (performance.now() > deadline)
      throw new Error(`Condition not met within 30 s: ${JSON.stringify(value)}`);
    await Bun.sleep(pauseMs);
  }
}
