import { jsonLinesMediaTypes, rowBytesMax } from '@svc/contract/rows.ts';
import type { Account, ByteBudget } from '../plumbing/byte-budget.ts';
import { fail } from '../plumbing/problem.ts';
import { readChunks } from '../plumbing/read-body.ts';
import type { BatchLimit } from './batch-limit.ts';
import { SentBody } from './sent-body.ts';

/** What a request brings, taken once however often the call is tried. */
export interface Sent {
  /** One object per line, by its content type. */
  isLines: boolean;
  /** Takes the body in, within what may be kept in memory; a batch counts twice, for what is made of it. */
  receive(bytesMax: number): Promise<void>;
  body(): SentBody;
  countAsBatch(appId: string): Promise<void>;
  /** Gives back what was kept of it. */
  close(): void;
}

export function createSent(
  request: Request,
  parts: { batchLimit: BatchLimit; budget: ByteBudget; callerId: string },
): Sent {
  let account: Account | undefined;
  let body: SentBody | undefined;
  let counted: Promise<void> | undefined;
  return {
    get isLines() {
      return jsonLinesMediaTypes.includes(contentType(request));
    },
    async receive(bytesMax) {
      account = parts.budget.open(parts.callerId);
      body = await received(request, bytesMax, account);
      if (this.isLines || body.size > rowBytesMax) await account.take(body.size);
    },
    body() {
      if (!body) throw new Error('The body was not received.');
      return body;
    },
    countAsBatch: (appId) => {
      counted ??= parts.batchLimit(appId);
      return counted;
    },
    close: () => account?.close(),
  };
}

function contentType(request: Request): string {
  const header = request.headers.get('content-type') ?? '';
  return (header.split(';')[0] ?? '').trim().toLowerCase();
}

const otherCharset = /;\s*charset\s*=\s*"?(?!utf-8)/i;

async function received(request: Request, bytesMax: number, account: Account): Promise<SentBody> {
  const type = contentType(request);
  const isTaken = type === 'application/json' || jsonLinesMediaTypes.includes(type);
  if (!isTaken || otherCharset.test(request.headers.get('content-type') ?? '')) {
    throw fail('unsupported_media_type', {
      detail: 'Send a row as application/json, many as application/x-ndjson, in UTF-8.',
    });
  }
  const { chunks, size } = await readChunks(request, { bytesMax, account });
  return new SentBody(chunks, size);
}
