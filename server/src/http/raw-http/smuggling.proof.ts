import { expect, test } from 'bun:test';
import { startNodePeer } from './differential-testing.ts';
import { compareRandomChanges } from './random-changes-testing.ts';

const count = 100_000;

test('100,000 random changes to the corpus are refused, or mean the same to Node', async () => {
  const seed = Number(process.env.SVC_TEST_SEED) || Math.trunc(Math.random() * 2 ** 31);
  const node = await startNodePeer();
  const startedAt = performance.now();
  const compared = await compareRandomChanges(node, { seed, count }).finally(node.stop);
  console.log(
    `seed ${seed}: ${compared} different requests compared in ${Math.round(performance.now() - startedAt)} ms`,
  );
  expect(compared).toBeGreaterThan(1_000);
});
