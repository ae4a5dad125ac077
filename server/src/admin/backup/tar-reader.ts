import { blockBytes, parsePax, parseTarHeader, TarError, tarPadding } from '@svc/contract/tar.ts';
import { validationError } from '../../core/problem.ts';
import type { FileEntry } from './data-files.ts';

const paxBytesMax = 1024 * 1024;
const kinds = new Map<string, FileEntry['kind']>([
  ['0', 'file'],
  ['1', 'hard_link'],
  ['2', 'link'],
  ['5', 'folder'],
]);

/** Reads what `tarBytes` writes, and nothing else: an archive of another kind, or a truncated one, is an error. */
export async function* readTar(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<FileEntry> {
  const source = new ByteSource(bytes);
  try {
    yield* readEntries(source);
  } catch (error) {
    throw error instanceof TarError ? damagedError(error.message) : error;
  } finally {
    await source.close();
  }
}

async function* readEntries(source: ByteSource): AsyncGenerator<FileEntry> {
  let pax = new Map<string, string>();
  for (;;) {
    const header = parseTarHeader(await source.take(blockBytes));
    // Read to the very end: only there does decompression verify its own checksum.
    if (header === null) return await source.drain();
    const { type, mode, modified } = header;
    if (type === 'x') {
      if (header.size > paxBytesMax) throw damagedError('a header is too long');
      pax = parsePax(await source.take(header.size));
      await source.take(tarPadding(header.size).byteLength);
      continue;
    }
    const size = Number(pax.get('size') ?? header.size);
    const path = (pax.get('path') ?? header.name).replace(/\/$/, '');
    const target = pax.get('linkpath') ?? header.linkName;
    pax = new Map();
    const kind = kinds.get(type);
    if (kind === undefined) throw damagedError(`${path} is neither a file, a folder nor a link`);
    const content = source.stream(size);
    yield { path, kind, ...(kind.endsWith('link') && { target }), mode, modified, size, content };
    for await (const _ of content);
    await source.take(tarPadding(size).byteLength);
  }
}

export function damagedError(how: string): Error {
  return validationError('from', `is not a valid backup: ${how}`, 'damaged');
}

class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.stream(count)) parts.push(part);
    return Buffer.concat(parts, count);
  }

  stream(count: number): AsyncIterable<Uint8Array> & AsyncIterator<Uint8Array> {
    let left = count;
    const next = async (): Promise<IteratorResult<Uint8Array>> => {
      if (left === 0) return { done: true, value: undefined };
      while (this.#rest.byteLength === 0) {
        const chunk = await this.#chunks.next();
        if (chunk.done) throw damagedError('it is truncated');
        this.#rest = chunk.value;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.byteLength);
      left -= part.byteLength;
      return { done: false, value: part };
    };
    // Without `return`, so that the rest of a partly read entry can be skipped.
    const stream = { next, [Symbol.asyncIterator]: () => stream };
    return stream;
  }

  async drain(): Promise<void> {
    for (let chunk = await this.#chunks.next(); !chunk.done; chunk = await this.#chunks.next());
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}
