import { createReadStream, statSync } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { invalid } from '../../plumbing/problem.ts';
import { damaged, type ReadEntry, readTar } from './tar-reader.ts';

/** The entries of a backup, in the order in which they were written. */
export async function* readBackup(file: string): AsyncGenerator<ReadEntry> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw invalid('from', `there is no file ${file}`);
  yield* readTar(unpacked(file));
}

async function* unpacked(file: string): AsyncGenerator<Uint8Array> {
  const packed = createReadStream(file);
  const bytes = packed.pipe(createGunzip());
  packed.on('error', (error) => bytes.destroy(error));
  try {
    yield* bytes;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw code.startsWith('Z_') ? damaged('it can not be unpacked') : error;
  } finally {
    packed.destroy();
    bytes.destroy();
  }
}

export async function readWhole(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}
