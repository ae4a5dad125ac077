export interface TarEntry {
  path: string;
  kind: 'file' | 'folder';
  mode: number;
  modified: Date;
  size: number;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const blockBytes = 512;
/** Of the fields in the classic header. */
const pathBytesMax = 100;
const sizeMax = 0o77777777777;

/** The bytes of a POSIX tar archive (pax where a path or size needs it), written as they are asked for. */
export async function* tarBytes(entries: AsyncIterable<TarEntry>): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    yield* headerOf(entry);
    let written = 0;
    for await (const chunk of entry.content) {
      written += chunk.byteLength;
      yield chunk;
    }
    if (written !== entry.size) throw new Error(`${entry.path} changed while it was read.`);
    yield padding(entry.size);
  }
  yield Buffer.alloc(2 * blockBytes);
}

function* headerOf(entry: TarEntry): Generator<Uint8Array> {
  const path = entry.kind === 'folder' ? `${entry.path}/` : entry.path;
  const records: string[] = [];
  if (Buffer.byteLength(path) > pathBytesMax || /[^\x20-\x7e]/.test(path))
    records.push(paxRecord('path', path));
  if (entry.size > sizeMax) records.push(paxRecord('size', String(entry.size)));
  if (records.length > 0) {
    const body = Buffer.from(records.join(''));
    yield header({ ...entry, path: 'pax', mode: 0o600, size: body.length, type: 'x' });
    yield body;
    yield padding(body.length);
  }
  const short = Buffer.from(path)
    .subarray(0, pathBytesMax)
    .toString('latin1')
    .replaceAll(/[^\x20-\x7e]/g, '_');
  const size = Math.min(entry.size, sizeMax);
  yield header({ ...entry, path: short, size, type: entry.kind === 'folder' ? '5' : '0' });
}

function header(fields: { path: string; mode: number; size: number; modified: Date; type: string }): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  block.write(fields.path, 0, 'latin1');
  block.write(octal(fields.mode & 0o7777, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(fields.size, 11), 124);
  block.write(octal(Math.max(0, Math.floor(fields.modified.getTime() / 1000)), 11), 136);
  block.write('        ', 148);
  block.write(fields.type, 156);
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, 'latin1');
  return block;
}

/** `length key=value\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  if (String(length).length !== String(bytes).length) length = bytes + String(length).length;
  return `${length}${rest}`;
}

function padding(size: number): Uint8Array {
  return new Uint8Array((blockBytes - (size % blockBytes)) % blockBytes);
}
