import { CompiledQuery, sql } from 'kysely';
import { PgBoss } from 'pg-boss';
import type { Logger } from 'pino';
import type { Db, Tx } from './db.ts';
import { type Job, startJobs } from './jobs.ts';

type OutboxTables = {
  outbox: {
    id: string;
    topic: string;
    payload: unknown;
    created_at: Date;
    attempts: number;
    done_at: Date | null;
    last_error: string | null;
  };
};

export interface QueuedEffect {
  id: string;
  topic: string;
  payload: Record<string, unknown>;
}

/** The `outbox` row is authoritative; the pg-boss job sent in the same transaction only wakes a worker. */
export interface Outbox {
  add(tx: Tx, at: Date, effects: readonly QueuedEffect[]): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export const rowsOnlyOutbox: Outbox = {
  async add(tx, at, effects) {
    for (const { id, topic, payload } of effects) {
      await tx
        .withTables<OutboxTables>()
        .insertInto('outbox')
        .values({ id, topic, payload, created_at: at, attempts: 0, done_at: null, last_error: null })
        .execute();
    }
  },
  async start() {},
  async stop() {},
};

/** Runs at least once per queued effect, so it must be idempotent. */
export type EffectHandler = (payload: Record<string, unknown>) => Promise<void>;

const defaultQueue = 'outbox';
const staleSeconds = 30;
const pollSeconds = 5;

export function createOutbox(options: {
  url: string;
  db: Db;
  log: Logger;
  effects: Readonly<Record<string, EffectHandler>>;
  queues?: Readonly<Record<string, readonly string[]>>;
  jobs: readonly Job[];
  jobPollSeconds?: number;
  connectsEarly?: boolean;
}): Outbox {
  const { db, log } = options;
  const boss = new PgBoss({
    connectionString: options.url,
    application_name: 'svc queue',
    max: 4,
    useListenNotify: true,
    // Storing warnings would fail while the database restarts, and that would end the server.
    persistWarnings: false,
  });
  let isStopped = false;
  boss.on('error', (error) => {
    if (!isStopped) log.warn({ err: error }, 'job queue error');
  });
  const connected = options.connectsEarly ? boss.start() : null;
  connected?.catch(() => {});
  let starting: Promise<void> | null = null;
  let runningJobs: Awaited<ReturnType<typeof startJobs>> | null = null;
  const namedQueues = Object.entries(options.queues ?? {}).map(([name, topics]) => ({
    queue: `${defaultQueue}.${name}`,
    topics,
  }));
  const namedTopics = namedQueues.flatMap(({ topics }) => topics);
  const queues = [defaultQueue, ...namedQueues.map(({ queue }) => queue)];
  const queueForTopic = (topic: string) =>
    namedQueues.find(({ topics }) => topics.includes(topic))?.queue ?? defaultQueue;

  async function runEffect(id: string): Promise<void> {
    const row = await db
      .withTables<OutboxTables>()
      .selectFrom('outbox')
      .select(['topic', 'payload'])
      .where('id', '=', id)
      .where('done_at', 'is', null)
      .executeTakeFirst();
    if (!row) return;
    const handler = options.effects[row.topic];
    try {
      if (!handler) throw new Error(`No handler for topic ${row.topic}.`);
      await handler(row.payload as Record<string, unknown>);
      await recordAttempt(id, null);
    } catch (error) {
      await recordAttempt(id, String(error).slice(0, 1000));
      throw error;
    }
  }

  async function recordAttempt(id: string, error: string | null): Promise<void> {
    await sql`update svc.outbox set attempts = attempts + 1, last_error = ${error}::text,
      done_at = case when ${error}::text is null then now() end where id = ${id}`.execute(db);
  }

  /** Sends jobs for rows without one: rows of a restored backup, and rows that `rowsOnlyOutbox` wrote. */
  async function wakeOpenRows(olderThanSeconds: number): Promise<void> {
    // The limit applies per queue: a thousand e-mails must not delay other effects.
    for (const queue of queues) {
      const own = namedQueues.find((named) => named.queue === queue)?.topics;
      const rows = await db
        .withTables<OutboxTables>()
        .selectFrom('outbox')
        .select('id')
        .where('done_at', 'is', null)
        .where(
          own
            ? sql<boolean>`topic = any(${own}::text[])`
            : sql<boolean>`topic <> all(${namedTopics}::text[])`,
        )
        .where('created_at', '<=', sql<Date>`now() - make_interval(secs => ${olderThanSeconds})`)
        // Rows that failed often come last, so that they cannot fill the limit.
        .orderBy('attempts')
        .orderBy('created_at')
        .limit(1000)
        .execute();
      for (const { id } of rows) await boss.send(queue, { id }, { singletonKey: id, singletonSeconds: 300 });
    }
  }

  async function startWorker(queue: string): Promise<void> {
    await boss.createQueue(queue, {
      notify: true,
      retryLimit: 20,
      retryBackoff: true,
      retryDelay: 1,
      retryDelayMax: 300,
    });
    let worker = '';
    const polling = {
      batchSize: 1,
      pollingIntervalSeconds: pollSeconds,
      notifyPollingIntervalSeconds: pollSeconds,
    };
    worker = await boss.work<{ id: string }>(queue, polling, async (jobs) => {
      // A notification causes one fetch; without this, jobs that arrived with it would wait for the next poll.
      boss.notifyWorker(worker);
      for (const job of jobs) await runEffect(job.data.id);
    });
  }

  async function startWorkers(): Promise<void> {
    await (connected ?? boss.start());
    const wakeJob = { name: 'outbox.wake', cron: '* * * * *', run: () => wakeOpenRows(staleSeconds) };
    const jobs = [wakeJob, ...options.jobs];
    [runningJobs] = await Promise.all([
      startJobs(boss, { jobs, log, pollSeconds: options.jobPollSeconds }),
      Promise.all(queues.map(startWorker)).then(() => wakeOpenRows(0)),
    ]);
  }

  return {
    async add(tx, at, effects) {
      await starting;
      await rowsOnlyOutbox.add(tx, at, effects);
      const inTransaction = {
        executeSql: async (text: string, values: unknown[] = []) => {
          const { rows } = await tx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, values));
          return { rows };
        },
      };
      for (const { id, topic } of effects) {
        await boss.send(queueForTopic(topic), { id }, { db: inTransaction });
      }
    },
    start() {
      starting ??= startWorkers();
      starting.catch(() => {});
      return starting;
    },
    async stop() {
      await starting?.catch(() => {});
      await runningJobs?.stop();
      await boss.stop({ graceful: true, timeout: 5_000 });
      isStopped = true;
    },
  };
}

const finishedRetention = '7 days';

export async function deleteFinishedEffects(db: Db): Promise<void> {
  await sql`delete from svc.outbox where done_at < now() - ${finishedRetention}::interval`.execute(db);
}
