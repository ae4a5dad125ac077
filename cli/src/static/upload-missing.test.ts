import { describe, expect, test } from 'bun:test';
import { createByteLimiter } from './upload-missing.ts';

/** Starts an upload of some bytes; `end` completes it. */
function begin(limiter: ReturnType<typeof createByteLimiter>, bytes: number) {
  const ended = Promise.withResolvers<void>();
  const work = { isBegun: false, end: ended.resolve, done: Promise.resolve() };
  work.done = limiter.reserve(bytes, () => {
    work.isBegun = true;
    return ended.promise;
  });
  return work;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a byte budget', () => {
  test('is granted in order, and never exceeded', async () => {
    const limiter = createByteLimiter(10);
    const works = [6, 4, 5, 1].map((bytes) => begin(limiter, bytes));
    const begun = async () => {
      await settled();
      return works.map(({ isBegun }) => isBegun);
    };
    expect(await begun()).toEqual([true, true, false, false]);
    works[1]?.end();
    expect(await begun()).toEqual([true, true, false, false]);
    works[0]?.end();
    expect(await begun()).toEqual([true, true, true, true]);
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
  });

  test('is granted alone to work that is larger than the budget', async () => {
    const limiter = createByteLimiter(10);
    const [small, large] = [begin(limiter, 1), begin(limiter, 50)];
    await settled();
    expect([small.isBegun, large.isBegun]).toEqual([true, false]);
    small.end();
    await settled();
    expect(large.isBegun).toBe(true);
  });

  test('is released when the work fails', async () => {
    const limiter = createByteLimiter(10);
    const failing = limiter.reserve(10, () => Promise.reject(new Error('no')));
    expect(failing).rejects.toThrow('no');
    expect(await limiter.reserve(10, async () => 'yes')).toBe('yes');
  });
});
