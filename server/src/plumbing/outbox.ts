import { CompiledQuery, sql } from 'kysely';
import { PgBoss } from 'pg-boss';
import type { Logger } from 'pino';
import type { Db } from './db.ts';
import { type Outbox, type OutboxTables, rowsOnly } from './outbox-rows.ts';
import { type RunningSweeps, runSweeps, type Sweep } from './run-sweeps.ts';

/** Must be safe to run twice: it runs at least once per queued effect. */
export type Effect = (payload: Record<string, unknown>) => Promise<void>;

/**
 * Effects of a lane are carried out one after the other, and each lane by a worker of its own: what waits for others, such
 * as a mail server, holds up only its like.
 */
export type Lanes = Readonly<Record<string, readonly string[]>>;

/** Of all that has no lane of its own. */
const commonQueue = 'outbox';
/** An open row this old has lost its wake-up, or never had one. */
const unwokenSeconds = 30;
/** A notification wakes at once; what is tried again, and what no notification told of, waits for this. */
const pollSeconds = 5;

export function createOutbox(options: {
  url: string;
  db: Db;
  log: Logger;
  effects: Readonly<Record<string, Effect>>;
  /** Topics by lane; those that are in none share one. */
  lanes?: Lanes;
  sweeps: readonly Sweep[];
}): Outbox {
  const { db, log } = options;
  const boss = new PgBoss({
    connectionString: options.url,
    application_name: 'svc queue',
    max: 4,
    useListenNotify: true,
    // Queues live as long as the schema; a restart of the database must not end the server.
    persistWarnings: false,
  });
  let isStopped = false;
  boss.on('error', (error) => {
    // Its connections may still be closing when the database is stopped next.
    if (!isStopped) log.warn({ err: error }, 'queue');
  });
  let running: RunningSweeps | null = null;
  const lanes = Object.entries(options.lanes ?? {}).map(([name, topics]) => ({
    queue: `${commonQueue}.${name}`,
    topics,
  }));
  const queues = [commonQueue, ...lanes.map(({ queue }) => queue)];
  const queueOf = (topic: string) => lanes.find(({ topics }) => topics.includes(topic))?.queue ?? commonQueue;

  async function carryOut(id: string): Promise<void> {
    const row = await db
      .withTables<OutboxTables>()
      .selectFrom('outbox')
      .select(['topic', 'payload'])
      .where('id', '=', id)
      .where('done_at', 'is', null)
      .executeTakeFirst();
    if (!row) return;
    const effect = options.effects[row.topic];
    try {
      if (!effect) throw new Error(`No effect is known for ${row.topic}.`);
      await effect(row.payload as Record<string, unknown>);
      await mark(id, {
        done_at: sql`now()` as never,
        attempts: sql`attempts + 1` as never,
        last_error: null,
      });
    } catch (error) {
      await mark(id, { attempts: sql`attempts + 1` as never, last_error: String(error).slice(0, 1000) });
      throw error;
    }
  }

  /** The rows are the truth: those that a restored back-up or the operator's tool left open get a wake-up here. */
  async function wakeOpenRows(olderThanSeconds: number): Promise<void> {
    // Each lane by itself: a thousand e-mails must not keep others from being woken.
    for (const queue of queues) await wakeOpenRowsOf(queue, olderThanSeconds);
  }

  async function wakeOpenRowsOf(queue: string, olderThanSeconds: number): Promise<void> {
    const inLanes = lanes.flatMap((lane) => lane.topics);
    const own = lanes.find((lane) => lane.queue === queue)?.topics;
    const rows = await db
      .withTables<OutboxTables>()
      .selectFrom('outbox')
      .select('id')
      .where('done_at', 'is', null)
      .where(own ? sql<boolean>`topic = any(${own}::text[])` : sql<boolean>`topic <> all(${inLanes}::text[])`)
      .where('created_at', '<=', sql<Date>`now() - make_interval(secs => ${olderThanSeconds})`)
      // Those tried often come last, so that they can not keep the others waiting.
      .orderBy('attempts')
      .orderBy('created_at')
      .limit(1000)
      .execute();
    for (const { id } of rows) await boss.send(queue, { id }, { singletonKey: id, singletonSeconds: 300 });
  }

  async function workOn(queue: string): Promise<void> {
    await boss.createQueue(queue, {
      notify: true,
      retryLimit: 20,
      retryBackoff: true,
      retryDelay: 1,
      retryDelayMax: 300,
    });
    let worker = '';
    const taking = {
      batchSize: 1,
      pollingIntervalSeconds: pollSeconds,
      notifyPollingIntervalSeconds: pollSeconds,
    };
    worker = await boss.work<{ id: string }>(queue, taking, async (jobs) => {
      // A notification wakes for one fetch only: what came with it would wait for the next poll, one by one.
      boss.notifyWorker(worker);
      for (const job of jobs) await carryOut(job.data.id);
    });
  }

  async function mark(id: string, set: Partial<OutboxTables['outbox']>): Promise<void> {
    await db.withTables<OutboxTables>().updateTable('outbox').set(set).where('id', '=', id).execute();
  }

  return {
    async add(tx, at, effects) {
      await rowsOnly.add(tx, at, effects);
      for (const { id, topic } of effects) {
        const inTransaction = {
          executeSql: async (text: string, values?: unknown[]) => {
            const { rows } = await tx.executeQuery<Record<string, unknown>>(
              CompiledQuery.raw(text, values ?? []),
            );
            return { rows };
          },
        };
        await boss.send(queueOf(topic), { id }, { db: inTransaction });
      }
    },
    async start() {
      await boss.start();
      for (const queue of queues) await workOn(queue);
      await wakeOpenRows(0);
      const resend: Sweep = {
        name: 'outbox.wake',
        cron: '* * * * *',
        run: () => wakeOpenRows(unwokenSeconds),
      };
      running = await runSweeps(boss, { sweeps: [resend, ...options.sweeps], log });
    },
    async stop() {
      await running?.stop();
      await boss.stop({ graceful: true, timeout: 5_000 });
      isStopped = true;
    },
  };
}
