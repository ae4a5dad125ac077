import { invalid } from '../../plumbing/problem.ts';

export interface ReadEntry {
  path: string;
  kind: 'file' | 'folder';
  mode: number;
  modified: Date;
  size: number;
  /** To be read before the next entry; what is left over is skipped. */
  content: AsyncIterable<Uint8Array>;
}

const blockBytes = 512;
const paxBytesMax = 1024 * 1024;

/** Reads what `tarBytes` writes, and nothing else: an archive of another kind, or one cut short, is an error. */
export async function* readTar(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry> {
  const source = new ByteSource(bytes);
  try {
    let pax = new Map<string, string>();
    for (;;) {
      const block = await source.take(blockBytes);
      // Read to the very end: there the unpacking finds out whether its own sum agrees.
      if (block.every((byte) => byte === 0)) return await source.drain();
      const fields = fieldsOf(block);
      if (fields.type === 'x') {
        if (fields.size > paxBytesMax) throw damaged('a header is too long');
        pax = paxRecords(await source.take(fields.size));
        await source.take(paddingOf(fields.size));
        continue;
      }
      const size = Number(pax.get('size') ?? fields.size);
      const path = (pax.get('path') ?? fields.path).replace(/\/$/, '');
      pax = new Map();
      if (fields.type !== '0' && fields.type !== '5') throw damaged(`${path} is neither file nor folder`);
      const content = source.stream(size);
      const { mode, modified } = fields;
      yield { path, kind: fields.type === '5' ? 'folder' : 'file', mode, modified, size, content };
      for await (const _ of content);
      await source.take(paddingOf(size));
    }
  } finally {
    await source.close();
  }
}

export function damaged(how: string): Error {
  return invalid('from', `is not a whole backup: ${how}`, 'damaged');
}

function fieldsOf(block: Buffer) {
  const text = (from: number, to: number) => {
    const field = block.subarray(from, to);
    const end = field.indexOf(0);
    return field
      .subarray(0, end === -1 ? field.length : end)
      .toString('latin1')
      .trim();
  };
  const octal = (from: number, to: number) => Number.parseInt(text(from, to) || '0', 8);
  let sum = 0;
  for (const [at, byte] of block.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte;
  if (sum !== octal(148, 156)) throw damaged('a header does not add up');
  return {
    path: text(0, 100),
    mode: octal(100, 108),
    size: octal(124, 136),
    modified: new Date(octal(136, 148) * 1000),
    type: text(156, 157),
  };
}

function paxRecords(body: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < body.length; ) {
    const [, length = ''] = /^(\d{1,7}) /.exec(body.subarray(at, at + 8).toString('latin1')) ?? [];
    const record = body.subarray(at, at + Number(length)).toString();
    const [, key, value] = /^\d+ ([^=]+)=([\s\S]*)\n$/.exec(record) ?? [];
    if (!key || value === undefined) throw damaged('a header is not readable');
    records.set(key, value);
    at += Number(length);
  }
  return records;
}

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
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
        if (chunk.done) throw damaged('it ends too early');
        this.#rest = chunk.value;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.byteLength);
      left -= part.byteLength;
      return { done: false, value: part };
    };
    // No `return`: a reader that stops half-way leaves the rest to be skipped.
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
