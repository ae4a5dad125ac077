import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { fileUnreadable } from '../file-chunks.ts';
import { refused } from '../static/refused.ts';
import { identityOf } from '../static/walk-site.ts';
import type { SourceEntry } from './walk-source.ts';

const blockBytes = 512;
const chunkBytes = 256 * 1024;
const openFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * A tar archive by POSIX. Bun.Archive knows neither links nor which files can be executed. The same files give the same
 * bytes: times and owners are nobody's business.
 */
export async function* tarPieces(entries: readonly SourceEntry[]): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    const link = entry.kind === 'link' ? entry.target : '';
    const extra = paxOf({ path: entry.path, linkpath: link });
    if (extra.byteLength > 0) {
      yield header({ name: 'pax', type: 'x', size: extra.byteLength, mode: 0o644, link: '' });
      yield padded(extra);
    }
    if (entry.kind === 'link') {
      yield header({ name: entry.path, type: '2', size: 0, mode: 0o777, link });
      continue;
    }
    yield header({ name: entry.path, type: '0', size: entry.size, mode: entry.mode, link: '' });
    yield* contentOf(entry);
    yield new Uint8Array((blockBytes - (entry.size % blockBytes)) % blockBytes);
  }
  yield new Uint8Array(2 * blockBytes);
}

/** The very file that was found, and as much of it as was announced. */
async function* contentOf(file: SourceEntry & { kind: 'file' }): AsyncGenerator<Uint8Array> {
  const handle = await open(file.place, openFlags).catch((cause: unknown) => {
    throw fileUnreadable(file.place, cause);
  });
  try {
    if (!Bun.deepEquals(identityOf(await handle.stat()), file.identity)) throw changed(file);
    let left = file.size;
    while (left > 0) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(left, chunkBytes)));
      if (bytesRead === 0) throw changed(file);
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    if (!Bun.deepEquals(identityOf(await handle.stat()), file.identity)) throw changed(file);
  } finally {
    await handle.close();
  }
}

function changed({ path }: SourceEntry): Error {
  return refused('digest_mismatch', {
    detail: `${path} was changed or replaced while it was being packed.`,
    next: 'Deploy again when nothing writes to the folder.',
  });
}

interface Header {
  name: string;
  type: string;
  size: number;
  mode: number;
  link: string;
}

function header({ name, type, size, mode, link }: Header): Uint8Array {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  block.write(name, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  block.write(link, 157, 100);
  block.write('ustar\u000000', 257, 'latin1');
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** What does not fit into a header, or is not ASCII there. */
function paxOf(fields: Record<string, string>): Uint8Array {
  const records = Object.entries(fields)
    .filter(([, value]) => Buffer.byteLength(value) > 99 || /[^ -~]/.test(value))
    .map(([key, value]) => {
      const rest = ` ${key}=${value}\n`;
      let length = Buffer.byteLength(rest) + 1;
      while (String(length).length + Buffer.byteLength(rest) !== length) length++;
      return `${length}${rest}`;
    });
  return Buffer.from(records.join(''));
}

function padded(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, new Uint8Array((blockBytes - (bytes.byteLength % blockBytes)) % blockBytes)]);
}
