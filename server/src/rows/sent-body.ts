import { fail } from '../plumbing/problem.ts';

/** About so much of a large body is looked at in one go, for others to have their turn in between. */
const pieceBytes = 256 * 1024;
const newline = 0x0a;

/** A body as it came in. It is decoded piece by piece, so that a large one is not in memory several times over. */
export class SentBody {
  readonly #chunks: readonly Uint8Array[];
  readonly size: number;

  constructor(chunks: readonly Uint8Array[], size: number) {
    this.#chunks = chunks;
    this.size = size;
  }

  static of(text: string): SentBody {
    const bytes = Buffer.from(text);
    return new SentBody([bytes], bytes.length);
  }

  /** The whole of it. */
  text(): string {
    return decode(this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks), 'whole');
  }

  /** Whole lines, many at a time; the last one need not end in a newline. */
  *pieces(): Generator<string> {
    let begun: Uint8Array[] = [];
    let place: 'first' | 'later' = 'first';
    for (const chunk of this.#chunks) {
      for (let at = 0; at < chunk.length; at += pieceBytes) {
        const part = chunk.subarray(at, at + pieceBytes);
        const end = part.lastIndexOf(newline) + 1;
        if (end === 0) {
          begun.push(part);
          continue;
        }
        yield decode(Buffer.concat([...begun, part.subarray(0, end)]), place);
        place = 'later';
        begun = end === part.length ? [] : [part.subarray(end)];
      }
    }
    if (begun.length > 0) yield decode(Buffer.concat(begun), place);
  }

  sha256(): string {
    const hasher = new Bun.CryptoHasher('sha256');
    for (const chunk of this.#chunks) hasher.update(chunk);
    return hasher.digest('hex');
  }
}

/** A byte order mark is left out at the beginning of the whole, and nowhere else. */
const atBeginning = new TextDecoder('utf-8', { fatal: true });
const further = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array | undefined, place: 'whole' | 'first' | 'later'): string {
  try {
    return (place === 'later' ? further : atBeginning).decode(bytes);
  } catch (error) {
    throw fail('malformed_json', { detail: 'The body is not valid UTF-8.' }, { cause: error });
  }
}
