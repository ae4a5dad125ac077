import {
  BadArchive,
  blockBytes,
  parsePax,
  parseTarHeader,
  type TarHeader,
  utf8,
} from '../plumbing/tar-header.ts';
import { createEntryCheck, type EntryLimits } from './check-entry.ts';

/** Names that do not fit into a header; more than this is none. */
const extraBytesMax = 64 * 1024;
/** Records that change what the header says in ways that programs do not agree on. */
const refusedRecords = /^GNU\.sparse\./;

/**
 * Passes an archive on as it comes, with each header looked at before it is passed on; throws `BadArchive` for one that
 * holds what source does not. What follows the end of the archive is left out.
 */
export async function* checkedTar(
  pieces: AsyncIterable<Uint8Array>,
  limits: EntryLimits,
): AsyncGenerator<Uint8Array> {
  const check = createEntryCheck(limits);
  const read = createReader(pieces);
  let extra: Extra = {};
  for (;;) {
    const block = await read.exactly(blockBytes);
    if (block === null) throw new BadArchive('The archive breaks off.');
    const header = parseTarHeader(block);
    if (header === null) break;
    const padded = Math.ceil(header.size / blockBytes) * blockBytes;
    if ('xgLK'.includes(header.type)) {
      if (header.size > extraBytesMax) throw new BadArchive('A name in the archive is too long.');
      const body = await read.exactly(padded);
      if (body === null) throw new BadArchive('The archive breaks off.');
      extra = withExtra(extra, header, body.subarray(0, header.size));
      yield block;
      yield body;
      continue;
    }
    check(entryOf(header, extra));
    extra = {};
    yield block;
    yield* read.upTo(padded);
  }
  if (Object.keys(extra).length > 0) throw new BadArchive('The archive breaks off.');
  // Two blocks of zeros end it, for programs that want both.
  yield new Uint8Array(2 * blockBytes);
}

interface Extra {
  name?: string;
  linkName?: string;
}

function withExtra(extra: Extra, { type }: TarHeader, body: Uint8Array): Extra {
  if (type === 'L' || type === 'K') {
    const text = utf8(body.at(-1) === 0 ? body.subarray(0, -1) : body);
    return type === 'L' ? { ...extra, name: text } : { ...extra, linkName: text };
  }
  const records = parsePax(body);
  for (const key of records.keys())
    if (refusedRecords.test(key)) throw new BadArchive('The archive holds a sparse file.');
  const [path, linkpath, size] = ['path', 'linkpath', 'size'].map((key) => records.get(key));
  // The header says the size as well, and only where it is too large for it another one counts.
  if (size !== undefined) throw new BadArchive('A header of the archive says a size twice.');
  if (type === 'g' && (path !== undefined || linkpath !== undefined))
    throw new BadArchive('The archive gives one name to all of its entries.');
  return {
    ...extra,
    ...(path !== undefined && { name: path }),
    ...(linkpath !== undefined && { linkName: linkpath }),
  };
}

function entryOf(header: TarHeader, { name, linkName }: Extra): TarHeader {
  return { ...header, name: name ?? header.name, linkName: linkName ?? header.linkName };
}

function createReader(pieces: AsyncIterable<Uint8Array>) {
  const source = pieces[Symbol.asyncIterator]();
  let held: Uint8Array = new Uint8Array(0);

  async function more(): Promise<boolean> {
    const { done, value } = await source.next();
    if (done) return false;
    held = held.byteLength === 0 ? value : Buffer.concat([held, value]);
    return true;
  }

  function take(bytes: number): Uint8Array {
    const taken = held.subarray(0, bytes);
    held = held.subarray(bytes);
    return taken;
  }

  return {
    /** Null where there is less. */
    async exactly(bytes: number): Promise<Uint8Array | null> {
      while (held.byteLength < bytes) if (!(await more())) return null;
      return take(bytes);
    },
    async *upTo(bytes: number): AsyncGenerator<Uint8Array> {
      for (let left = bytes; left > 0; ) {
        if (held.byteLength === 0 && !(await more())) throw new BadArchive('The archive breaks off.');
        const piece = take(left);
        left -= piece.byteLength;
        yield piece;
      }
    },
  };
}
