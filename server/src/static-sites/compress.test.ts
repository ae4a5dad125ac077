import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { compress } from './compress.ts';

const page = (bytes: number) =>
  Buffer.from('<p>All of this is one line.</p>\n'.repeat(bytes / 30).slice(0, bytes));

test('text is kept in both forms, each of which is the text again', async () => {
  for (const bytes of [256, 4_000, 200_000, 1_500_000]) {
    const text = page(bytes);
    const { gzip, br } = await compress(text);
    expect([bytes, gunzipSync(gzip ?? '').equals(text)]).toEqual([bytes, true]);
    expect([bytes, brotliDecompressSync(br ?? '').equals(text)]).toEqual([bytes, true]);
    expect(Math.max(gzip?.byteLength ?? 0, br?.byteLength ?? 0)).toBeLessThanOrEqual(text.byteLength * 0.9);
  }
});

test('what would not be smaller, is tiny or is very large is kept as it is alone', async () => {
  const none = { gzip: null, br: null };
  for (const bytes of [300, 60_000, 200_000]) expect(await compress(randomBytes(bytes))).toEqual(none);
  expect(await compress(page(255))).toEqual(none);
  expect(await compress(page(8 * 1024 * 1024 + 1))).toEqual(none);
  expect(await compress(new Uint8Array())).toEqual(none);
});
