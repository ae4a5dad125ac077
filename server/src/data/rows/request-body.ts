import { jsonLinesMediaTypes, rowBytesMax } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { FastPathRequest } from '../../http/handlers.ts';
import { type ByteBudget, type ByteReservation, readChunks } from '../../http/read-body.ts';
import type { BatchLimit } from './store.ts';

export type RequestBody = ReturnType<typeof createRequestBody>;

export function createRequestBody(
  request: FastPathRequest,
  deps: { batchLimit: BatchLimit; budget: ByteBudget; callerId: string },
) {
  let reservation: ByteReservation | undefined;
  let body: ReceivedBody | undefined;
  let counted: Promise<void> | undefined;
  return {
    get isJsonLines(): boolean {
      return jsonLinesMediaTypes.includes(contentType(request));
    },
    async receive(bytesMax: number): Promise<void> {
      reservation = deps.budget.open(deps.callerId);
      body = await receiveBody(request, bytesMax, reservation);
      if (this.isJsonLines || body.size > rowBytesMax) await reservation.reserve(body.size);
    },
    received(): ReceivedBody {
      if (!body) throw new Error('receive() was not called.');
      return body;
    },
    countAsBatch: (appId: string): Promise<void> => {
      counted ??= deps.batchLimit(appId);
      return counted;
    },
    close: () => reservation?.close(),
  };
}

function contentType(request: FastPathRequest): string {
  const header = request.headers.get('content-type') ?? '';
  return (header.split(';')[0] ?? '').trim().toLowerCase();
}

const otherCharset = /;\s*charset\s*=\s*"?(?!utf-8)/i;

async function receiveBody(
  request: FastPathRequest,
  bytesMax: number,
  reservation: ByteReservation,
): Promise<ReceivedBody> {
  const type = contentType(request);
  const isSupported = type === 'application/json' || jsonLinesMediaTypes.includes(type);
  if (!isSupported || otherCharset.test(request.headers.get('content-type') ?? '')) {
    throw fail('unsupported_media_type', {
      detail: 'Send one row as application/json or many as application/x-ndjson, in UTF-8.',
    });
  }
  const { chunks, size } = await readChunks(request, { bytesMax, budget: reservation });
  return new ReceivedBody(chunks, size);
}

/** A large body is processed in pieces of about this size, so that other requests are served in between. */
const pieceBytes = 256 * 1024;
const newline = 0x0a;

export class ReceivedBody {
  readonly #chunks: readonly Uint8Array[];
  readonly size: number;

  constructor(chunks: readonly Uint8Array[], size: number) {
    this.#chunks = chunks;
    this.size = size;
  }

  static of(text: string): ReceivedBody {
    const bytes = Buffer.from(text);
    return new ReceivedBody([bytes], bytes.length);
  }

  text(): string {
    return decode(this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks), 'whole');
  }

  *pieces(): Generator<string> {
    let rest: Uint8Array[] = [];
    let position: 'first' | 'later' = 'first';
    for (const chunk of this.#chunks) {
      for (let at = 0; at < chunk.length; at += pieceBytes) {
        const part = chunk.subarray(at, at + pieceBytes);
        const end = part.lastIndexOf(newline) + 1;
        if (end === 0) {
          rest.push(part);
          continue;
        }
        yield decode(Buffer.concat([...rest, part.subarray(0, end)]), position);
        position = 'later';
        rest = end === part.length ? [] : [part.subarray(end)];
      }
    }
    if (rest.length > 0) yield decode(Buffer.concat(rest), position);
  }

  sha256(): string {
    const hasher = new Bun.CryptoHasher('sha256');
    for (const chunk of this.#chunks) hasher.update(chunk);
    return hasher.digest('hex');
  }
}

/** A byte order mark is removed at the start of the body only. */
const decoder = new TextDecoder('utf-8', { fatal: true });
const decoderKeepingBom = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array | undefined, position: 'whole' | 'first' | 'later'): string {
  try {
    return (position === 'later' ? decoderKeepingBom : decoder).decode(bytes);
  } catch (error) {
    throw fail('malformed_json', { detail: 'The body is not valid UTF-8.' }, { cause: error });
  }
}
