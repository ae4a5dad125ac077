import { constants, gunzipSync } from 'node:zlib';
import { fail } from '../plumbing/problem.ts';

/** As much of it tells what it is, and inflates to no more than a few MiB. */
const headBytes = 4 * 1024;
const magicAt = 257;

/** Passes the pieces on, once their beginning is that of a tar archive compressed with gzip. */
export async function* requireArchive(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | null = new Uint8Array(0);
  for await (const piece of pieces) {
    if (head === null) {
      yield piece;
      continue;
    }
    head = Buffer.concat([head, piece]);
    if (head.byteLength < headBytes) continue;
    refuseOther(head);
    yield head;
    head = null;
  }
  if (head === null) return;
  refuseOther(head);
  yield head;
}

function refuseOther(head: Uint8Array): void {
  if (!isTarGz(head))
    throw fail('unsupported_media_type', { detail: 'Send a tar archive that is compressed with gzip.' });
}

function isTarGz(head: Uint8Array): boolean {
  if (head[0] !== 0x1f || head[1] !== 0x8b) return false;
  try {
    const begin = gunzipSync(head.subarray(0, headBytes), { finishFlush: constants.Z_SYNC_FLUSH });
    return begin.toString('latin1', magicAt, magicAt + 5) === 'ustar';
  } catch {
    return false;
  }
}
