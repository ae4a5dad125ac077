import type { PgBoss } from 'pg-boss';
import type { Logger } from 'pino';

export interface Job {
  name: string;
  cron: string;
  run: () => Promise<void>;
}

/** The name and the payload `{ sweep }` are stored in databases of earlier versions, so they stay. */
const queue = 'sweeps';
const stopMsMax = 5_000;

/** One pg-boss queue for all jobs: a worker per job would poll constantly for work that runs once an hour. */
export async function startJobs(
  boss: PgBoss,
  { jobs, log, pollSeconds = 10 }: { jobs: readonly Job[]; log: Logger; pollSeconds?: number },
) {
  const running = new Map<string, Promise<void>>();

  function startJob(name: string): void {
    const job = jobs.find((each) => each.name === name);
    if (!job || running.has(name)) return;
    const run = job
      .run()
      .catch((error: unknown) => log.warn({ err: error, job: name }, 'job failed'))
      .finally(() => running.delete(name));
    running.set(name, run);
  }

  await boss.createQueue(queue, { retryLimit: 0, deleteAfterSeconds: 3600 });
  await updateSchedules(boss, jobs);
  const polling = { batchSize: 50, pollingIntervalSeconds: pollSeconds };
  await boss.work<{ sweep: string }>(queue, polling, async (entries) => {
    for (const { data } of entries) startJob(data.sweep);
  });
  return {
    async stop(): Promise<void> {
      // An entry that was fetched is gone from the queue, so its job still starts: else a daily job would skip a day.
      const ended = boss.offWork(queue).then(() => Promise.all(running.values()));
      await Promise.race([ended, Bun.sleep(stopMsMax)]);
    },
  };
}

/** Also removes schedules of earlier versions (one queue per job), which would create entries that nobody fetches. */
async function updateSchedules(boss: PgBoss, jobs: readonly Job[]): Promise<void> {
  const schedules = await boss.getSchedules();
  const isCurrent = (each: { name: string; key?: string; cron: string }) =>
    each.name === queue && jobs.some(({ name, cron }) => name === each.key && cron === each.cron);
  for (const each of schedules) if (!isCurrent(each)) await boss.unschedule(each.name, each.key);
  const scheduled = new Set(schedules.filter(isCurrent).map(({ key }) => key));
  for (const { name, cron } of jobs) {
    if (!scheduled.has(name)) await boss.schedule(queue, cron, { sweep: name }, { key: name });
  }
}

export interface LeasedWork<T> {
  name: string;
  log: Logger;
  claim(): Promise<T | null>;
  renew(item: T): Promise<boolean>;
  work(item: T, signal: AbortSignal): Promise<void>;
  hasOpenWork(): Promise<boolean>;
  concurrencyMax: number;
  pollMs: number;
  renewMs: number;
}

export interface LeasedWorker {
  start(): void;
  wake(): void;
  stop(): Promise<void>;
}

/** Runs `round` at each `wake`, and after the time that it returned: never twice at once. It must not reject. */
export function createWakeLoop(round: () => Promise<number>): LeasedWorker {
  let timer: Timer | undefined;
  let running: Promise<unknown> | null = null;
  let isWoken = false;
  let isStopped = false;

  function wake(): void {
    if (isStopped) return;
    isWoken = true;
    clearTimeout(timer);
    running ??= run().then((nextMs) => {
      running = null;
      if (isWoken) wake();
      else if (!isStopped) timer = setTimeout(wake, nextMs);
    });
  }

  function run(): Promise<number> {
    isWoken = false;
    return round();
  }

  return {
    start: wake,
    wake,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

const idlePollMs = 15_000;

export function createLeasedWorker<T>(options: LeasedWork<T>): LeasedWorker {
  const { log, name } = options;
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();
  const loop = createWakeLoop(claimAll);

  async function claimAll(): Promise<number> {
    try {
      while (!stopping.signal.aborted && running.size < options.concurrencyMax) {
        const item = await options.claim();
        if (item === null) return (await options.hasOpenWork()) ? options.pollMs : idlePollMs;
        const run: Promise<void> = runItem(item).finally(() => {
          running.delete(run);
          loop.wake();
        });
        running.add(run);
      }
    } catch (error) {
      log.warn({ err: error, work: name }, 'claiming work failed');
    }
    return options.pollMs;
  }

  async function runItem(item: T): Promise<void> {
    const lost = new AbortController();
    const renewing = setInterval(() => void renew(item, lost), options.renewMs);
    try {
      await options.work(item, AbortSignal.any([stopping.signal, lost.signal]));
    } catch (error) {
      if (!stopping.signal.aborted) log.warn({ err: error, work: name }, 'leased work failed');
    } finally {
      clearInterval(renewing);
    }
  }

  async function renew(item: T, lost: AbortController): Promise<void> {
    try {
      if (!(await options.renew(item))) lost.abort(new Error('The lease was lost.'));
    } catch (error) {
      // While the database is unreachable, the lease may still be valid: the work continues.
      log.warn({ err: error, work: name }, 'lease renewal failed');
    }
  }

  return {
    ...loop,
    async stop() {
      stopping.abort(new Error('The server is stopping.'));
      await loop.stop();
      await Promise.allSettled([...running]);
    },
  };
}
