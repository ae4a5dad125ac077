import { expect, test } from 'bun:test';
import { createByteBudget } from './byte-budget.ts';
import { Failure } from './problem.ts';

const settled = async (promise: Promise<unknown>) => {
  let state = 'waits';
  promise.then(
    () => {
      state = 'goes on';
    },
    () => {
      state = 'refused';
    },
  );
  for (let i = 0; i < 5; i++) await Promise.resolve();
  return state;
};

test('who would go beyond the budget waits until another is done', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10_000 });
  const [first, second] = [budget.open('a'), budget.open('b')];
  await first.take(60);
  const more = second.take(50);
  expect(await settled(more)).toBe('waits');
  first.close();
  expect(await settled(more)).toBe('goes on');
});

test('the one that began first always goes on, so that nobody waits for ever', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10_000 });
  const [first, second] = [budget.open('a'), budget.open('b')];
  await second.take(90);
  expect(await settled(first.take(50))).toBe('goes on');
  const more = second.take(20);
  expect(await settled(more)).toBe('waits');
  first.close();
  expect(await settled(more)).toBe('goes on');
});

test('one that has sent little holds up nobody', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10_000 });
  await budget.open('a').take(1);
  for (let i = 0; i < 50; i++) {
    const account = budget.open('b');
    await account.take(80);
    account.close();
  }
});

test('one who sends much at once leaves half of it to others', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10_000 });
  await budget.open('a').take(40);
  const more = budget.open('a').take(20);
  expect(await settled(more)).toBe('waits');
  expect(await settled(budget.open('b').take(50))).toBe('goes on');
});

test('who waits too long is told to come again', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10 });
  await budget.open('a').take(100);
  const refusal = await budget
    .open('b')
    .take(1)
    .catch((error: unknown) => error);
  expect((refusal as Failure).code).toBe('unavailable');
  expect(refusal).toBeInstanceOf(Failure);
});
