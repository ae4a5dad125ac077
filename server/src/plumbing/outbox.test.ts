import { afterAll, beforeAll, expect, test } from 'bun:test';
import { silentLog, type TestDatabase, testDatabase } from '../testing.ts';
import { createOutbox } from './outbox.ts';

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
