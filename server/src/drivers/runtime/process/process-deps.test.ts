import { expect, test } from 'bun:test';
import { isMeasurementDue } from './process-deps.ts';

const mb = 1024 * 1024;
const last = { tookMs: 1_000, freeBytes: 10_000 * mb, roomBytes: 5_000 * mb };
const fullerBy = (written: number, idleMs = 1_000) => ({ idleMs, freeBytes: last.freeBytes - written * mb });

test('the disk space of apps is measured when what was written since may exceed a limit', () => {
  expect(isMeasurementDue(last, fullerBy(5_001))).toBe(true);
  expect(isMeasurementDue({ ...last, roomBytes: 70 * mb }, fullerBy(71))).toBe(true);
  expect(isMeasurementDue({ ...last, roomBytes: 0 }, fullerBy(65))).toBe(true);
});

test('an install of packages that cannot exceed the limit of its build is not measured all the time', () => {
  expect(isMeasurementDue(last, fullerBy(4_999))).toBe(false);
  expect(isMeasurementDue({ ...last, roomBytes: 0 }, fullerBy(63))).toBe(false);
});

test('the disk space is measured now and then, because files that are removed elsewhere hide what is written', () => {
  expect(isMeasurementDue(last, fullerBy(-100, 20_001))).toBe(true);
  expect(isMeasurementDue(last, fullerBy(-100, 19_999))).toBe(false);
});
