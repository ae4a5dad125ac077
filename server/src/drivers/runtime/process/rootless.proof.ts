import { expect, test } from 'bun:test';
import { testBesidePeer } from '../network-testing.ts';

const userId = 64_321;
const files = [
  'process.proof.ts',
  'containment.slice.test.ts',
  'hostile.slice.test.ts',
  'crash.slice.test.ts',
].map((name) => `server/src/drivers/runtime/process/${name}`);
/** Fewer mean that a file was not found: with several names, Bun ignores one without a file. */
const testsMin = 28;

test.if(process.getuid?.() === 0)(
  'a server of an ordinary user builds and runs apps as one of root does',
  async () => {
    const { code, failed, passed } = await testBesidePeer(userId, files);
    expect([code, failed]).toEqual([0, null]);
    expect(passed).toBeGreaterThanOrEqual(testsMin);
  },
);
