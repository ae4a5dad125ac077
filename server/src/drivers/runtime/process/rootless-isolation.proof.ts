import { expect, test } from 'bun:test';
import { testBesidePeer } from '../network-testing.ts';

const userId = 64_323;
/** Fewer mean that the file was not found. */
const testsMin = 20;

test.if(process.getuid?.() === 0)(
  'a server of an ordinary user isolates apps as one of root does',
  async () => {
    const files = ['server/src/drivers/runtime/process/isolation.proof.ts'];
    const { code, failed, passed } = await testBesidePeer(userId, files);
    expect([code, failed]).toEqual([0, null]);
    expect(passed).toBeGreaterThanOrEqual(testsMin);
  },
);
