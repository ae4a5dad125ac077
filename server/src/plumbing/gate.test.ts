import { expect, test } from 'bun:test';
import { createGate } from './gate.ts';
import { Failure } from './problem.ts';

test('a gate lets in as many as it is told, the others in the order in which they came', async () => {
  const gate = createGate({ atOnceMax: 2, waitMsMax: 10_000 });
  const order: string[] = [];
  const holds = ['a', 'b', 'c', 'd'].map((name) => ({ name, ...Promise.withResolvers<void>() }));
  const passing = holds.map(({ name, promise }) =>
    gate.pass(async () => {
      order.push(`${name} in`);
      await promise;
      order.push(`${name} out`);
    }),
  );
  await Promise.resolve();
  expect(order).toEqual(['a in', 'b in']);
  for (const { resolve } of holds) resolve();
  await Promise.all(passing);
  expect(order.filter((step) => step.endsWith('in'))).toEqual(['a in', 'b in', 'c in', 'd in']);
});

test('who waits too long at a gate is told to come again, and takes no place', async () => {
  const gate = createGate({ atOnceMax: 1, waitMsMax: 20 });
  const held = Promise.withResolvers<void>();
  const first = gate.pass(() => held.promise);
  const refusal = await gate.pass(async () => 'never').catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(Failure);
  expect((refusal as Failure).code).toBe('unavailable');
  held.resolve();
  await first;
  expect(await gate.pass(async () => 'next')).toBe('next');
});

test('work that fails gives its place back', async () => {
  const gate = createGate({ atOnceMax: 1, waitMsMax: 1_000 });
  const failed = gate.pass(async () => {
    throw new Error('no');
  });
  expect(await failed.catch((error: Error) => error.message)).toBe('no');
  expect(await gate.pass(async () => 'yes')).toBe('yes');
});
