import type { S3Place } from '../../config.ts';
import { withIdleLimit } from './idle-limit.ts';
import { textOf } from './s3-xml.ts';
import { canonicalQuery, sha256, signRequest } from './sign-request.ts';
import { unavailable } from './unavailable.ts';

/** How long the other side may be silent. Sending a part over a slow line takes its time. */
export interface S3Limits {
  answerMs: number;
  uploadMs: number;
  idleMs: number;
}

export const s3Limits: S3Limits = { answerMs: 10_000, uploadMs: 60_000, idleMs: 30_000 };

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** The bucket itself where there is none. */
  key?: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array<ArrayBuffer>;
  signal?: AbortSignal | undefined;
  /** Where a second one would not do the same. */
  once?: true;
}

export interface S3Answer {
  status: number;
  headers: Headers;
  /** What S3 calls its errors; empty where it says none. */
  code: string;
  text: string;
}

export interface S3Client {
  /** The whole answer, which is small. Its status is one of those expected. */
  ask(request: S3Request, expected: readonly number[]): Promise<S3Answer>;
  /** The answer with its body still to come where it is a success. */
  open(
    request: S3Request,
    expected: readonly number[],
  ): Promise<S3Answer & { body: ReadableStream<Uint8Array> | null }>;
}

const triesMax = 3;
const isPassing = (status: number) => status === 429 || status >= 500;

export function createS3Client(place: S3Place, limits: S3Limits): S3Client {
  async function send(request: S3Request): Promise<{ response: Response; leave(): void }> {
    const control = new AbortController();
    const onAbort = () => control.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', onAbort, { once: true });
    const limitMs = request.body ? limits.uploadMs : limits.answerMs;
    const timer = setTimeout(() => control.abort(new Error(`No answer within ${limitMs} ms`)), limitMs);
    try {
      request.signal?.throwIfAborted();
      const url = addressOf(place, request);
      const headers = signRequest(place, {
        method: request.method,
        url,
        headers: request.headers ?? {},
        bodySha256: sha256(request.body ?? ''),
        at: new Date(),
      });
      const response = await fetch(url, {
        method: request.method,
        headers,
        body: request.body ?? null,
        redirect: 'manual',
        signal: control.signal,
      });
      return { response, leave: () => control.abort() };
    } catch (error) {
      request.signal?.throwIfAborted();
      throw control.signal.aborted ? new SilentError(control.signal.reason) : error;
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', onAbort);
    }
  }

  async function sendUntilAnswered(request: S3Request, tries = 1): ReturnType<typeof send> {
    const isLast = request.once || tries >= triesMax;
    try {
      const sent = await send(request);
      if (isLast || !isPassing(sent.response.status)) return sent;
      sent.leave();
    } catch (error) {
      request.signal?.throwIfAborted();
      if (isLast || error instanceof SilentError) throw unavailable(error);
    }
    await Bun.sleep(100 * 2 ** tries * Math.random());
    return sendUntilAnswered(request, tries + 1);
  }

  async function open(request: S3Request, expected: readonly number[]): ReturnType<S3Client['open']> {
    const { response, leave } = await sendUntilAnswered(request);
    const { status, headers } = response;
    const length = request.method === 'HEAD' ? 0 : headers.get('content-length');
    const body =
      response.body &&
      withIdleLimit(response.body, { idleMs: limits.idleMs, length: lengthOf(length), leave });
    if (status < 300 && expected.includes(status)) return { status, headers, code: '', text: '', body };
    const text = body ? await new Response(body).text() : '';
    const code = textOf(text, 'Code') ?? '';
    if (expected.includes(status) && code !== 'NoSuchBucket')
      return { status, headers, code, text, body: null };
    throw unavailable(new Error(describe(status, code, textOf(text, 'Message'))));
  }

  return {
    open,
    async ask(request, expected) {
      const { body, ...answer } = await open(request, expected);
      return body ? { ...answer, text: await new Response(body).text() } : answer;
    },
  };
}

class SilentError extends Error {
  constructor(reason: unknown) {
    super(reason instanceof Error ? reason.message : String(reason), { cause: reason });
  }
}

/** The bucket in the path, as every other server has it; Amazon wants it in the host, where certificates allow no dots. */
export function addressOf(
  { endpoint, bucket }: Pick<S3Place, 'endpoint' | 'bucket'>,
  { key, query }: Pick<S3Request, 'key' | 'query'>,
): URL {
  const base = new URL(endpoint);
  const isInHost = /^s3\.[a-z0-9-]+\.amazonaws\.com$/.test(base.host) && !bucket.includes('.');
  const host = isInHost ? `${bucket}.${base.host}` : base.host;
  const path = isInHost ? '' : `${base.pathname.replace(/\/$/, '')}/${bucket}`;
  const search = query ? `?${canonicalQuery(query)}` : '';
  return new URL(`${base.protocol}//${host}${path}${key === undefined ? '' : `/${key}`}${search}`);
}

function lengthOf(header: string | number | null): number | null {
  return header === null ? null : Number(header);
}

export function describe(status: number, code: string, message = ''): string {
  return `S3 answered ${[status, code].filter(Boolean).join(' ')}${message ? `: ${message.replace(/\.$/, '')}` : ''}`;
}
