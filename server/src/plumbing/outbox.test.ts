import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { silentLog, type TestDatabase, testDatabase } from '../testing.ts';
import { createOutbox } from './outbox.ts';
import { type Outbox, rowsOnly } from './outbox-rows.ts';
import type { Sweep } from './run-sweeps.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

test('effects that are queued together are carried out one right after the other', async () => {
  const { db, url } = database;
  const done: unknown[] = [];
  const all = Promise.withResolvers<void>();
  const count = 8;
  const effects = {
    note: async (payload: Record<string, unknown>) => {
      done.push(payload.n);
      if (done.length === count) all.resolve();
    },
  };
  const outbox = createOutbox({ url, db, log: silentLog, effects, sweeps: [] });
  await outbox.start();
  const tx = await db.startTransaction().execute();
  const queued = Array.from({ length: count }, (_, n) => ({
    id: Bun.randomUUIDv7(),
    topic: 'note',
    payload: { n },
  }));
  await outbox.add(tx, new Date(), queued);
  const begun = performance.now();
  await tx.commit().execute();
  await all.promise;
  expect(performance.now() - begun).toBeLessThan(5_000);
  expect(done.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  await outbox.stop();
});

test('what waits for others in a lane of its own holds up nothing else, also of what an earlier server left open', async () => {
  const { db, url } = database;
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
  await write(rowsOnly, 1);
  const lanes = { slow: ['test.letter'] };
  const outbox = createOutbox({ url, db, log: silentLog, effects, lanes, sweeps: [] });
  await outbox.start();
  await write(outbox, 2);
  await until('the others are done', () => done.length === 2);
  expect(done.toSorted()).toEqual(['other 1', 'other 2']);
  letter.resolve();
  await until('the letters are done', () => done.length === 4);
  await outbox.stop();
});

describe('what is done by the clock', () => {
  const began = new Map<string, number>();
  const ended = Promise.withResolvers<void>();
  const sweep = (name: string, run = async () => {}) => ({
    name,
    cron: '5 4 1 1 *',
    run: () => {
      began.set(name, (began.get(name) ?? 0) + 1);
      return run();
    },
  });
  const due = (name: string) =>
    sql`insert into pgboss.job (name, data) select name, data from pgboss.schedule where key = ${name}`;
  const scheduled = async () => {
    const { rows } = await sql<{ is: string }>`
      select name || ' ' || key || ' ' || cron as is from pgboss.schedule order by 1`.execute(database.db);
    return rows.map((row) => row.is);
  };
  const started = async (sweeps: readonly Sweep[]) => {
    const { db, url } = database;
    const outbox = createOutbox({ url, db, log: silentLog, effects: {}, sweeps });
    await outbox.start();
    return outbox;
  };

  test('waits for no other that takes long, runs once at a time, and is waited for when the server stops', async () => {
    const outbox = await started([
      sweep('test.long', () => ended.promise),
      sweep('test.short'),
      sweep('test.bad', () => Promise.reject(new Error('as asked'))),
    ]);
    await due('test.long').execute(database.db);
    await due('test.bad').execute(database.db);
    await until('both begin', () => began.has('test.long') && began.has('test.bad'));
    for (const name of ['test.long', 'test.bad', 'test.short']) await due(name).execute(database.db);
    await until('the short one runs beside it', () => began.has('test.short'));
    await until('one that failed runs again', () => began.get('test.bad') === 2);
    expect(began.get('test.long')).toBe(1);
    const stopped = outbox.stop();
    let isStopped = false;
    void stopped.then(() => {
      isStopped = true;
    });
    await Bun.sleep(0);
    expect(isStopped).toBeFalse();
    ended.resolve();
    await stopped;
  });

  test('is asked for by one queue, and what a version before asked for is asked for no more', async () => {
    await sql`insert into pgboss.schedule (name, key, cron, timezone) values ('outbox', 'test.old', '* * * * *', 'UTC')`.execute(
      database.db,
    );
    const first = await started([sweep('test.kept'), sweep('test.moved')]);
    await first.stop();
    const second = await started([sweep('test.kept'), { ...sweep('test.moved'), cron: '6 4 1 1 *' }]);
    await second.stop();
    expect(await scheduled()).toEqual([
      ...['sweeps outbox.wake * * * * *', 'sweeps test.kept 5 4 1 1 *', 'sweeps test.moved 6 4 1 1 *'],
    ]);
  });
});

async function until(what: string, is: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 40_000; !is(); await Bun.sleep(20))
    if (performance.now() > deadline) throw new Error(`It did not happen: ${what}.`);
}
