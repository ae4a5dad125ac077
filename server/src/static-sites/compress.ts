import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Smaller ones do not get smaller, larger ones would take too long. */
const bytesMin = 256;
export const compressedBytesMax = 8 * 1024 * 1024;
/** Anything less is not worth the room and the choice. */
const keptRatioMax = 0.9;
/** By how a piece of it shrinks one can tell what is compressed already: images, fonts, archives. */
const sampleBytes = 64 * 1024;
const bestBrotliBytesMax = 1024 * 1024;

const runGzip = promisify(gzip);
const runBrotli = promisify(brotliCompress) as (
  bytes: Uint8Array,
  options: { params: Record<number, number> },
) => Promise<Buffer>;

export interface Compressed {
  gzip: Uint8Array | null;
  br: Uint8Array | null;
}

/** Beside the event loop. Null where it would not be smaller by a tenth. */
export async function compress(bytes: Uint8Array): Promise<Compressed> {
  const { byteLength } = bytes;
  if (byteLength < bytesMin || byteLength > compressedBytesMax) return { gzip: null, br: null };
  if (byteLength > sampleBytes) {
    const sample = bytes.subarray(0, sampleBytes);
    if ((await runGzip(sample, { level: 1 })).byteLength > sampleBytes * keptRatioMax)
      return { gzip: null, br: null };
  }
  const [gzipped, brotli] = await Promise.all([
    runGzip(bytes, { level: 6 }),
    runBrotli(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: byteLength < bestBrotliBytesMax ? 9 : 5,
        [constants.BROTLI_PARAM_SIZE_HINT]: byteLength,
      },
    }),
  ]);
  const kept = (made: Uint8Array) => (made.byteLength <= byteLength * keptRatioMax ? made : null);
  return { gzip: kept(gzipped), br: kept(brotli) };
}
