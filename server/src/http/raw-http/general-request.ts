import { resolveClientAddress } from '../client-address.ts';
import type { AppProxy, Edge, EdgeResponse } from '../edge-request.ts';
import type { GeneralHandler } from '../handlers.ts';
import { bodyBytesMax } from './fast-request.ts';
import type { RequestHead } from './parse-head.ts';
import { type RawRequest, readAuthority } from './raw-request.ts';
import type { Answering, RequestContext, Routes } from './route-request.ts';

/** Others are passed on: the general server receives bodies in pieces, and upgrades connections. */
export function canAnswerWhole({ body, isSpecial, request: { host } }: RequestHead): boolean {
  return !isSpecial && body !== 'chunked' && body <= bodyBytesMax && host !== '';
}

/** A request that arrived whole. Its URL is normalized as the general server does. */
export class GeneralRequest extends Request {
  readonly received: Uint8Array<ArrayBuffer>;
  #abort: AbortController | null = null;
  #isAborted = false;

  constructor({ request, end, body }: RequestHead, bytes: Buffer) {
    // A copy: the bytes of the connection would live as long as the request.
    const received = new Uint8Array(bytes.subarray(end, end + Number(body)));
    super(sentUrl(request), {
      method: request.method,
      headers: request.fields(),
      ...(received.length > 0 && { body: received }),
    });
    this.received = received;
  }

  override get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isAborted) this.#abort.abort();
    return this.#abort.signal;
  }

  abort(): void {
    this.#isAborted = true;
    this.#abort?.abort();
  }
}

/** Always http, as at the general server: `ClientConnection` has the scheme. */
function sentUrl({ authority, path, search }: RawRequest): string {
  return `http://${authority}${path}${search === '' ? '' : `?${search}`}`;
}

const noBytes = new Uint8Array();

/** Null where the URL is not valid. */
export function answerGeneral(
  general: GeneralHandler,
  head: RequestHead,
  { bytes, connection }: RequestContext,
): Answering | null {
  if (!URL.canParse(sentUrl(head.request))) return null;
  const request = new GeneralRequest(head, bytes);
  const respond = async () => {
    const response = await toEdgeResponse(await general.answer(request, connection), head.request);
    // The length in a response to HEAD is that of GET, as far as it is known.
    return response.body === null ? { ...response, body: noBytes } : response;
  };
  return { response: respond(), abort: () => request.abort(), isGeneral: true };
}

export function answerFromApp(
  { trustedProxies, general }: Routes,
  { edge, app, head, context }: { edge: Edge; app: AppProxy; head: RequestHead; context: RequestContext },
): Answering {
  const { connection } = context;
  const request = new GeneralRequest(head, context.bytes);
  const forwardedFor = head.request.header('x-forwarded-for');
  const whole = {
    request,
    clientAddress: resolveClientAddress(connection.peer().address, forwardedFor, trustedProxies),
    isStopping: () => general?.isStopping() ?? false,
    disableTimeout: () => connection.setTimeout(0),
    upgrade: connection.upgrade,
  };
  const respond = async () => {
    const answer = request.url === sentUrl(head.request) ? app : await edge.answer(normalize(head, request));
    return 'proxy' in answer ? toEdgeResponse(await answer.proxy(whole), head.request) : answer;
  };
  return { response: respond(), abort: () => request.abort(), isGeneral: true };
}

/** Apps and the paths of the platform get the URL that the general server would read. */
function normalize({ request: raw }: RequestHead, { url }: Request): RawRequest {
  const { host, pathname, search } = new URL(url);
  const bytes = Buffer.from(host, 'latin1');
  const authority = readAuthority(bytes, 0, bytes.length, null);
  return authority === 'invalid' ? raw : raw.withTarget(authority, pathname, search.slice(1));
}

/** Up to this size a body whose bytes are there already is sent with its length. */
const wholeBytesMax = 8 * 1024 * 1024;

async function toEdgeResponse(response: Response | undefined, request: RawRequest): Promise<EdgeResponse> {
  if (!response) throw new Error('The handler upgraded a connection that cannot be upgraded.');
  const { 'set-cookie': cookies, ...headers }: Sent = response.headers.toJSON();
  request.cachedRequestId = headers['x-request-id'] ?? request.cachedRequestId;
  const isLast = headers.connection?.toLowerCase() === 'close';
  for (const name of ownHeaders) delete headers[name];
  const { status } = response;
  const stream = response.body as ReadableStream<Uint8Array> | null;
  const body = stream === null || 'content-length' in headers ? stream : await readIfThere(stream);
  return { status, headers, body, cookies, isLast };
}

type Sent = Record<string, string> & { 'set-cookie'?: string[] };
/** Written by the listener. */
const ownHeaders = ['x-request-id', 'connection', 'keep-alive', 'date', 'transfer-encoding'];

/** The bytes of a body that needs no waiting; otherwise a stream. A `Response` does not show which it has. */
async function readIfThere(
  stream: ReadableStream<Uint8Array>,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const reading = reader.read();
    // Bun ends a body of bytes one microtask after its last chunk.
    if (Bun.peek.status(reading) === 'pending') await null;
    if (Bun.peek.status(reading) !== 'fulfilled' || size > wholeBytesMax)
      return resume(reader, chunks, reading);
    const { done, value } = await reading;
    if (done) return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size);
    chunks.push(value);
    size += value.length;
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

function resume(
  reader: Reader,
  chunks: Uint8Array[],
  reading: ReturnType<Reader['read']>,
): ReadableStream<Uint8Array> {
  let pending: ReturnType<Reader['read']> | null = reading;
  // Reported when the stream is read.
  reading.catch(() => {});
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = chunks.shift();
        if (chunk) return controller.enqueue(chunk);
        const next = pending ?? reader.read();
        pending = null;
        const { done, value } = await next;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
