import { createHmac } from 'node:crypto';
import { sha256, withTimeout } from '../../core/values.ts';
import { unavailableError } from './object-store.ts';

export interface S3Config {
  kind: 's3';
  bucket: string;
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export interface S3Limits {
  answerMs: number;
  uploadMs: number;
  idleMs: number;
}

export const s3Limits: S3Limits = { answerMs: 10_000, uploadMs: 60_000, idleMs: 30_000 };

interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  key?: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array<ArrayBuffer>;
  signal?: AbortSignal | undefined;
  noRetry?: true;
}

interface S3Answer {
  status: number;
  headers: Headers;
  code: string;
  text: string;
}

export interface S3Client {
  ask(request: S3Request, expected: readonly number[]): Promise<S3Answer>;
  open(
    request: S3Request,
    expected: readonly number[],
  ): Promise<S3Answer & { body: ReadableStream<Uint8Array> | null }>;
}

const triesMax = 3;
const isTemporary = (status: number) => status === 429 || status >= 500;

export function createS3Client(config: S3Config, limits: S3Limits): S3Client {
  async function send(request: S3Request): Promise<{ response: Response; abort(): void }> {
    const control = new AbortController();
    const onAbort = () => control.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', onAbort, { once: true });
    const limitMs = request.body ? limits.uploadMs : limits.answerMs;
    const timer = setTimeout(() => control.abort(new Error(`No response within ${limitMs} ms`)), limitMs);
    try {
      request.signal?.throwIfAborted();
      const url = objectUrl(config, request);
      const headers = signRequest(config, {
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
      return { response, abort: () => control.abort() };
    } catch (error) {
      request.signal?.throwIfAborted();
      throw control.signal.aborted ? new TimeoutError(control.signal.reason) : error;
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', onAbort);
    }
  }

  async function sendWithRetries(request: S3Request, tries = 1): ReturnType<typeof send> {
    const isLast = request.noRetry || tries >= triesMax;
    try {
      const sent = await send(request);
      if (isLast || !isTemporary(sent.response.status)) return sent;
      sent.abort();
    } catch (error) {
      request.signal?.throwIfAborted();
      if (isLast || error instanceof TimeoutError) throw unavailableError(error);
    }
    await Bun.sleep(100 * 2 ** tries * Math.random());
    return sendWithRetries(request, tries + 1);
  }

  async function open(request: S3Request, expected: readonly number[]): ReturnType<S3Client['open']> {
    const { response, abort } = await sendWithRetries(request);
    const { status, headers } = response;
    const length = request.method === 'HEAD' ? '0' : headers.get('content-length');
    const body = response.body && withIdleLimit(response.body, { idleMs: limits.idleMs, length, abort });
    if (status < 300 && expected.includes(status)) return { status, headers, code: '', text: '', body };
    const text = body ? await new Response(body).text() : '';
    const code = xmlText(text, 'Code') ?? '';
    if (expected.includes(status) && code !== 'NoSuchBucket')
      return { status, headers, code, text, body: null };
    throw unavailableError(new Error(describeError(status, code, xmlText(text, 'Message'))));
  }

  return {
    open,
    async ask(request, expected) {
      const { body, ...answer } = await open(request, expected);
      return body ? { ...answer, text: await new Response(body).text() } : answer;
    },
  };
}

class TimeoutError extends Error {
  constructor(reason: unknown) {
    super(reason instanceof Error ? reason.message : String(reason), { cause: reason });
  }
}

/** The bucket is in the path, except at Amazon: there it is in the host, unless it has dots (wildcard certificates). */
export function objectUrl(
  { endpoint, bucket }: Pick<S3Config, 'endpoint' | 'bucket'>,
  { key, query }: Pick<S3Request, 'key' | 'query'>,
): URL {
  const base = new URL(endpoint);
  const isInHost = /^s3\.[a-z0-9-]+\.amazonaws\.com$/.test(base.host) && !bucket.includes('.');
  const host = isInHost ? `${bucket}.${base.host}` : base.host;
  const path = isInHost ? '' : `${base.pathname.replace(/\/$/, '')}/${bucket}`;
  const search = query ? `?${canonicalQuery(query)}` : '';
  return new URL(`${base.protocol}//${host}${path}${key === undefined ? '' : `/${key}`}${search}`);
}

export function describeError(status: number, code: string, message = ''): string {
  return `S3 responded ${[status, code].filter(Boolean).join(' ')}${message ? `: ${message.replace(/\.$/, '')}` : ''}`;
}

export function xmlText(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined ? undefined : decodeXml(text);
}

export function xmlElements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map((match) => match[1] ?? '');
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeXml(text: string): string {
  return text.replace(/&(?:#x([\da-fA-F]+)|#(\d+)|(\w+));/g, (whole, hex, decimal, name) => {
    if (name) return entities[name] ?? whole;
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

export function encodeXml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}

function withIdleLimit(
  body: ReadableStream<Uint8Array>,
  { idleMs, length, abort }: { idleMs: number; length: string | null; abort(): void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const stalledError = () => new Error(`No data for ${idleMs} ms`);
  let received = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await withTimeout(reader.read(), idleMs, stalledError);
          received += next.value?.byteLength ?? 0;
          if (next.value) controller.enqueue(next.value);
          if (!next.done) return;
          if (length !== null && received !== Number(length))
            throw new Error(`Received ${received} of ${length} bytes`);
          controller.close();
        } catch (error) {
          abort();
          controller.error(unavailableError(error));
        }
      },
      async cancel() {
        abort();
        await reader.cancel().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

type Signer = Pick<S3Config, 'region' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>;

interface UnsignedRequest {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  bodySha256: string;
  at: Date;
}

export function signRequest(signer: Signer, request: UnsignedRequest): Record<string, string> {
  const time = request.at.toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = [time.slice(0, 8), signer.region, 's3', 'aws4_request'];
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-content-sha256': request.bodySha256,
    'x-amz-date': time,
    ...(signer.sessionToken ? { 'x-amz-security-token': signer.sessionToken } : {}),
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    request.method,
    request.url.pathname,
    request.url.search.slice(1),
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    names.join(';'),
    request.bodySha256,
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${signer.secretAccessKey}`);
  const signature = hmac(key, text).toString('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${signer.accessKeyId}/${scope.join('/')},SignedHeaders=${names.join(';')},Signature=${signature}`;
  return headers;
}

export function canonicalQuery(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${encode(name)}=${encode(query[name] ?? '')}`)
    .join('&');
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
