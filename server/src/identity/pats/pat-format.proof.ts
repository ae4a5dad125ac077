import { expect, test } from 'bun:test';
import { isWellFormedPat, makePat } from './find-pat.ts';

test('a million generated tokens all pass their own check', () => {
  let failed = 0;
  for (let n = 0; n < 1_000_000; n++) if (!isWellFormedPat(makePat())) failed++;
  expect(failed).toBe(0);
});
