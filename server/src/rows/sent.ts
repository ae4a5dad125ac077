import { jsonLinesMediaTypes } from '@svc/contract/rows.ts';
import { fail } from '../plumbing/problem.ts';
import { readBody } from '../plumbing/read-body.ts';
import type { BatchLimit } from './batch-limit.ts';

/** What a request brings, taken once however often the call is tried. */
export interface Sent {
  /** One object per line, by its content type. */
  isLines: boolean;
  /** Infinite where the client does not say. */
  bytesAnnounced: number;
  body(bytesMax: number): Promise<string>;
  countAsBatch(appId: string): Promise<void>;
}

export function createSent(request: Request, batchLimit: BatchLimit): Sent {
  let body: Promise<string> | undefined;
  let counted: Promise<void> | undefined;
  return {
    get isLines() {
      return jsonLinesMediaTypes.includes(contentType(request));
    },
    get bytesAnnounced() {
      return Number(request.headers.get('content-length') ?? Number.POSITIVE_INFINITY);
    },
    body: (bytesMax) => {
      body ??= bodyText(request, bytesMax);
      return body;
    },
    countAsBatch: (appId) => {
      counted ??= batchLimit(appId);
      return counted;
    },
  };
}

function contentType(request: Request): string {
  const header = request.headers.get('content-type') ?? '';
  return (header.split(';')[0] ?? '').trim().toLowerCase();
}

const otherCharset = /;\s*charset\s*=\s*"?(?!utf-8)/i;
/** Leaves out a byte order mark. */
const decoder = new TextDecoder('utf-8', { fatal: true });

async function bodyText(request: Request, bytesMax: number): Promise<string> {
  const type = contentType(request);
  const isTaken = type === 'application/json' || jsonLinesMediaTypes.includes(type);
  if (!isTaken || otherCharset.test(request.headers.get('content-type') ?? '')) {
    throw fail('unsupported_media_type', {
      detail: 'Send a row as application/json, many as application/x-ndjson, in UTF-8.',
    });
  }
  const bytes = await readBody(request, { bytesMax });
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw fail('malformed_json', { detail: 'The body is not valid UTF-8.' }, { cause: error });
  }
}
