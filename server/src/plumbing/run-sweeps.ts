import type { PgBoss } from 'pg-boss';
import type { Logger } from 'pino';

/** Something that is done by the clock; must be safe to run twice. */
export type Sweep = { name: string; cron: string; run: () => Promise<void> };

export interface RunningSweeps {
  /** Takes no more, and waits for those that run, but not without end. */
  stop(): Promise<void>;
}

const queue = 'sweeps';
const pollSeconds = 10;
const stopMsMax = 5_000;

/**
 * One queue for all of them: a worker of its own for each would ask the database all the time for what is done once an
 * hour. So a job says only that a sweep is due; it is over when the sweep has begun, and a long one holds up no other.
 */
export async function runSweeps(
  boss: PgBoss,
  { sweeps, log }: { sweeps: readonly Sweep[]; log: Logger },
): Promise<RunningSweeps> {
  const running = new Map<string, Promise<void>>();

  function begin(name: string): void {
    const sweep = sweeps.find((each) => each.name === name);
    if (!sweep || running.has(name)) return;
    const run = sweep
      .run()
      .catch((error: unknown) => log.warn({ err: error, sweep: name }, 'a sweep failed'))
      .finally(() => running.delete(name));
    running.set(name, run);
  }

  await boss.createQueue(queue, { retryLimit: 0, deleteAfterSeconds: 3600 });
  await settleSchedules(boss, sweeps);
  const taking = { batchSize: 50, pollingIntervalSeconds: pollSeconds };
  await boss.work<{ sweep: string }>(queue, taking, async (jobs) => {
    for (const { data } of jobs) begin(data.sweep);
  });
  return {
    async stop() {
      // A job that was taken is gone: what it asks for is begun also now, or a daily sweep would wait for a day.
      const ended = boss.offWork(queue).then(() => Promise.all(running.values()));
      await Promise.race([ended, Bun.sleep(stopMsMax)]);
    },
  };
}

/** Those of a version before, which had a queue for each, would go on making jobs that nobody takes. */
async function settleSchedules(boss: PgBoss, sweeps: readonly Sweep[]): Promise<void> {
  const known = await boss.getSchedules();
  const isKept = (each: { name: string; key?: string; cron: string }) =>
    each.name === queue && sweeps.some(({ name, cron }) => name === each.key && cron === each.cron);
  for (const each of known) if (!isKept(each)) await boss.unschedule(each.name, each.key);
  const kept = new Set(known.filter(isKept).map(({ key }) => key));
  for (const { name, cron } of sweeps) {
    if (!kept.has(name)) await boss.schedule(queue, cron, { sweep: name }, { key: name });
  }
}
