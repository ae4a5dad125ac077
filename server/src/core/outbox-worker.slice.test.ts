import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { patientMs } from '../../../scripts/patience.ts';
import { silentLog, useTestDatabase } from '../testing.ts';
import type { Job } from './jobs.ts';
import { createOutbox, type Outbox, rowsOnlyOutbox } from './outbox-worker.ts';

const database = useTestDatabase();

async function startOutbox(options: Partial<Parameters<typeof createOutbox>[0]>): Promise<Outbox> {
  const { db, url } = database;
  const outbox = createOutbox({
    url,
    db,
    log: silentLog,
    effects: {},
    jobs: [],
    jobPollSeconds: 0.5,
    ...options,
  });
  await outbox.start();
  return outbox;
}

test('effects queued together run without a pause between them', async () => {
  const { db } = database;
  const done: unknown[] = [];
  const all = Promise.withResolvers<void>();
  const count = 8;
  const effects = {
    note: async (payload: Record<string, unknown>) => {
      done.push(payload.n);
      if (done.length === count) all.resolve();
    },
  };
  const outbox = await startOutbox({ effects });
  const tx = await db.startTransaction().execute();
  const queued = Array.from({ length: count }, (_, n) => ({
    id: Bun.randomUUIDv7(),
    topic: 'note',
    payload: { n },
  }));
  await outbox.add(tx, new Date(), queued);
  const startedAt = performance.now();
  await tx.commit().execute();
  await all.promise;
  expect(performance.now() - startedAt).toBeLessThan(patientMs(5_000));
  expect(done.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  await outbox.stop();
});

test('a slow queue delays no other queue, also for rows of an earlier server', async () => {
  const { db } = database;
  const letter = Promise.withResolvers<void>();
  const done: string[] = [];
  const effects = {
    'test.letter': async ({ n }: Record<string, unknown>) => {
      await letter.promise;
      done.push(`letter ${n}`);
    },
    'test.other': async ({ n }: Record<string, unknown>) => void done.push(`other ${n}`),
  };
  const rows = (at: number) =>
    ['test.letter', 'test.other'].map((topic) => ({ id: Bun.randomUUIDv7(), topic, payload: { n: at } }));
  const write = async (outbox: Pick<Outbox, 'add'>, at: number) => {
    const tx = await db.startTransaction().execute();
    await outbox.add(tx, new Date(), rows(at));
    await tx.commit().execute();
  };
  await write(rowsOnlyOutbox, 1);
  const outbox = await startOutbox({ effects, queues: { slow: ['test.letter'] } });
  await write(outbox, 2);
  await until('the others are done', () => done.length === 2);
  expect(done.toSorted()).toEqual(['other 1', 'other 2']);
  letter.resolve();
  await until('the letters are done', () => done.length === 4);
  await outbox.stop();
});

describe('periodic jobs', () => {
  const starts = new Map<string, number>();
  const longJob = Promise.withResolvers<void>();
  const newJob = (name: string, run = async () => {}) => ({
    name,
    cron: '5 4 1 1 *',
    run: () => {
      starts.set(name, (starts.get(name) ?? 0) + 1);
      return run();
    },
  });
  const enqueueJob = (name: string) =>
    sql`insert into pgboss.job (name, data) select name, data from pgboss.schedule where key = ${name}`;
  const scheduled = async () => {
    const { rows } = await sql<{ is: string }>`
      select name || ' ' || key || ' ' || cron as is from pgboss.schedule order by 1`.execute(database.db);
    return rows.map((row) => row.is);
  };
  const start = (jobs: readonly Job[]) => startOutbox({ jobs });

  test('a long job delays no other, does not overlap itself, and is awaited on stop', async () => {
    const outbox = await start([
      newJob('test.long', () => longJob.promise),
      newJob('test.short'),
      newJob('test.bad', () => Promise.reject(new Error('failed'))),
    ]);
    await enqueueJob('test.long').execute(database.db);
    await enqueueJob('test.bad').execute(database.db);
    await until('both start', () => starts.has('test.long') && starts.has('test.bad'));
    for (const name of ['test.long', 'test.bad', 'test.short']) await enqueueJob(name).execute(database.db);
    await until('the short job runs', () => starts.has('test.short'));
    await until('the failed job runs again', () => starts.get('test.bad') === 2);
    expect(starts.get('test.long')).toBe(1);
    const stopped = outbox.stop();
    let isStopped = false;
    void stopped.then(() => {
      isStopped = true;
    });
    await Bun.sleep(0);
    expect(isStopped).toBeFalse();
    longJob.resolve();
    await stopped;
  });

  test('all jobs share one queue, and schedules of earlier versions are removed', async () => {
    await sql`insert into pgboss.schedule (name, key, cron, timezone) values ('outbox', 'test.old', '* * * * *', 'UTC')`.execute(
      database.db,
    );
    const first = await start([newJob('test.same'), newJob('test.moved')]);
    await first.stop();
    const second = await start([newJob('test.same'), { ...newJob('test.moved'), cron: '6 4 1 1 *' }]);
    await second.stop();
    expect(await scheduled()).toEqual([
      'sweeps outbox.wake * * * * *',
      'sweeps test.moved 6 4 1 1 *',
      'sweeps test.same 5 4 1 1 *',
    ]);
  });
});

async function until(what: string, is: () => boolean): Promise<void> {
  for (const deadline = performance.now() + patientMs(40_000); !is(); await Bun.sleep(20))
    if (performance.now() > deadline) throw new Error(`Timed out: ${what}.`);
}
