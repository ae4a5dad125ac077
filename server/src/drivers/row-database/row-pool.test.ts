import { expect, test } from 'bun:test';
import { createTenantLimit } from './row-pool.ts';

/** Work that ends on demand, and how much of it is under way. */
function statements() {
  let time = 0;
  const limit = createTenantLimit(() => time);
  const running: { tenant: string; end: () => void }[] = [];
  const count = (tenant: string) => running.filter((each) => each.tenant === tenant).length;
  return {
    count,
    wait: (ms: number) => {
      time += ms;
    },
    start(tenant: string, many: number): void {
      for (let at = 0; at < many; at++)
        void limit.run(tenant, () => {
          const { promise, resolve } = Promise.withResolvers<void>();
          running.push({ tenant, end: resolve });
          return promise;
        });
    },
    async end(tenant: string): Promise<void> {
      const at = running.findIndex((each) => each.tenant === tenant);
      running.splice(at, 1)[0]?.end();
      await flushTimers();
    },
  };
}

const flushTimers = async () => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

test('a tenant alone has no limit', async () => {
  const work = statements();
  work.start('one', 500);
  await flushTimers();
  expect(work.count('one')).toBe(500);
});

test('of several tenants each has an equal part, and what waits runs in order when a place is free', async () => {
  const work = statements();
  for (const tenant of ['a', 'b', 'c']) work.start(tenant, 1);
  work.start('greedy', 100);
  await flushTimers();
  expect([work.count('a'), work.count('greedy')]).toEqual([1, 16]);
  await work.end('greedy');
  expect(work.count('greedy')).toBe(16);
  // Another one does not wait behind them.
  work.start('b', 1);
  await flushTimers();
  expect(work.count('b')).toBe(2);
});

test('a tenant counts for a second after its last statement', async () => {
  const work = statements();
  work.start('quiet', 1);
  await flushTimers();
  await work.end('quiet');
  work.start('busy', 80);
  await flushTimers();
  expect(work.count('busy')).toBe(32);
  work.wait(1_000);
  work.start('busy', 1);
  await flushTimers();
  await work.end('busy');
  expect(work.count('busy')).toBe(80);
});

test('among very many tenants each has four places', async () => {
  const work = statements();
  for (let at = 0; at < 100; at++) work.start(`tenant ${at}`, 5);
  await flushTimers();
  expect(work.count('tenant 99')).toBe(4);
});

test('work that fails gives its place back', async () => {
  const limit = createTenantLimit(() => 0);
  await limit.run('other', async () => {});
  for (let at = 0; at < 50; at++)
    await expect(limit.run('one', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await limit.run('one', async () => 7)).toBe(7);
});
