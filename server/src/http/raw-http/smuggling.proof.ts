import { expect, test } from 'bun:test';
import { hasNginx, type Peer, startNginxPeer, startNodePeer } from './differential-testing.ts';
import { compareRandomChanges } from './random-changes-testing.ts';

const count = 100_000;

test('100,000 random changes to the corpus are refused, or mean the same to Node', async () =>
  compareWith(await startNodePeer()));

test.if(hasNginx)('100,000 random changes to the corpus are refused, or mean the same to nginx', async () =>
  compareWith((await startNginxPeer())!),
);

async function compareWith(peer: Peer): Promise<void> {
  const seed = Number(process.env.SVC_TEST_SEED) || Math.trunc(Math.random() * 2 ** 31);
  const startedAt = performance.now();
  const compared = await compareRandomChanges(peer, { seed, count }).finally(peer.stop);
  console.log(
    `seed ${seed}: ${compared} different requests compared with ${peer.name} in ${Math.round(performance.now() - startedAt)} ms`,
  );
  expect(compared).toBeGreaterThan(1_000);
}
