import { expect, test } from 'bun:test';
import { readableBytes } from './readable-bytes.ts';

test('bytes are said in the largest unit that leaves a number before the point', () => {
  expect([0, 1, 999, 1_000, 1_550, 123_456, 25 * 1024 ** 2, 1e15].map(readableBytes)).toEqual([
    ...['0 bytes', '1 byte', '999 bytes', '1.0 KB', '1.6 KB', '123 KB', '26.2 MB', '1000 TB'],
  ]);
});
