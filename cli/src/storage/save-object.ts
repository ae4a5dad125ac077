import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { writeWholeFile } from '../rows/whole-file.ts';
import type { ByteProgress } from './byte-progress.ts';
import { downloadObject } from './download-object.ts';
import type { StoragePlace } from './storage-place.ts';

/** Into a file that appears when it is whole; how many bytes that were. */
export async function saveObject(
  ctx: Ctx,
  place: StoragePlace,
  { key, path, progress }: { key: string; path: string; progress: ByteProgress },
): Promise<number> {
  await mkdir(dirname(path), { recursive: true }).catch((cause) => {
    throw new CliError('output_failed', `${dirname(path)} can not be made.`, { cause });
  });
  let bytes = 0;
  async function* pieces() {
    for await (const text of downloadObject(ctx, place, { key, progress })) {
      bytes += text.byteLength;
      yield { text };
    }
  }
  await writeWholeFile(path, pieces());
  return bytes;
}
