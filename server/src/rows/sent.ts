import { jsonLinesMediaTypes } from '@svc/contract/rows.ts';
import type { Account, ByteBudget } from '../plumbing/byte-budget.ts';
import { fail } from '../plumbing/problem.ts';
import { readChunks } from '../plumbing/read-body.ts';
import type { BatchLimit } from './batch-limit.ts';
import { SentBody } from './sent-body.ts';

/** What a request brings, taken once however often the call is tried. */
export interface Sent {
  /** One object per line, by its content type. */
  isLines: boolean;
  body(bytesMax: number): Promise<SentBody>;
  countAsBatch(appId: string): Promise<void>;
  /** Waits until so much more may be kept in memory for it. */
  keepMore(bytes: number): Promise<void>;
  /** Gives back what was kept of it. */
  close(): void;
}

export function createSent(request: Request, parts: { batchLimit: BatchLimit; budget: ByteBudget }): Sent {
  let account: Account | undefined;
  let body: Promise<SentBody> | undefined;
  let counted: Promise<void> | undefined;
  return {
    get isLines() {
      return jsonLinesMediaTypes.includes(contentType(request));
    },
    body: (bytesMax) => {
      account ??= parts.budget.open();
      body ??= received(request, bytesMax, account);
      return body;
    },
    countAsBatch: (appId) => {
      counted ??= parts.batchLimit(appId);
      return counted;
    },
    keepMore: async (bytes) => account?.take(bytes),
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
