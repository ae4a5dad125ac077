import type { Logger } from 'pino';
import { Failure, fail, renderProblem } from '../../core/problem.ts';
import type { AppProxy, EdgeResponse } from '../edge-request.ts';
import { corsHeaders, isRequestId } from '../headers.ts';
import type { OutputQueue } from './output-queue.ts';
import { headTooLarge, type RequestHead } from './parse-head.ts';
import type { Clock, Framing, ResponseHeads } from './response-heads.ts';

export interface ResponseDeps {
  log: Logger;
  clock: Clock;
  heads: ResponseHeads;
  isStopping: boolean;
}

export interface OpenBody {
  body: ReadableStream<Uint8Array>;
  framing: Framing;
  isLast: boolean;
}

export type AfterResponse = 'next' | 'last' | OpenBody;

export function sendResponse(
  output: OutputQueue,
  deps: ResponseDeps,
  head: RequestHead,
  response: EdgeResponse,
): AfterResponse {
  const { method } = head.request;
  const framing = responseFraming(response, head);
  let headText: Uint8Array | string;
  try {
    headText = deps.heads.get(response, framing);
  } catch (error) {
    return sendError(output, deps, head, error);
  }
  const isLast = head.isLast || deps.isStopping;
  const after = isLast ? 'last' : 'next';
  // A record that is made when the stream ends must have the id of the response.
  if (response.body instanceof ReadableStream) head.request.requestId();
  putHead(output, headText, responseId(deps, head), after);
  const { body } = response;
  if (body === null) return after;
  const sendsBody = method !== 'HEAD' && !isBodilessStatus(response.status);
  if (body instanceof Uint8Array) {
    if (sendsBody) output.write(body);
    return after;
  }
  if (sendsBody) return { body, framing, isLast };
  void body.cancel().catch(() => {});
  return after;
}

export function sendError(
  output: OutputQueue,
  deps: ResponseDeps,
  head: RequestHead,
  error: unknown,
): AfterResponse {
  const requestId = head.request.requestId();
  if (!(error instanceof Failure)) {
    const { host, path } = head.request;
    deps.log.error({ err: error, request_id: requestId, host, path }, 'internal server error');
  }
  const failure = error instanceof Failure ? error : fail('internal');
  return sendProblem(output, deps, { failure, requestId, method: head.request.method });
}

export function sendMalformedError(output: OutputQueue, deps: ResponseDeps, failure: Failure): AfterResponse {
  const requestId = deps.clock.nextRequestId().toString('latin1');
  deps.log.debug({ request_id: requestId, detail: failure.message }, 'malformed request');
  if (failure === headTooLarge) {
    putHead(
      output,
      deps.heads.get({ status: 431, headers: { ...corsHeaders }, body: null }, 0),
      requestId,
      'last',
    );
    return 'last';
  }
  // Host and path are unknown, and responses of /oauth and /data must carry the CORS headers.
  return sendProblem(output, deps, { failure, requestId, method: 'GET', headers: corsHeaders });
}

function sendProblem(
  output: OutputQueue,
  deps: ResponseDeps,
  {
    failure,
    requestId,
    method,
    headers: more,
  }: { failure: Failure; requestId: string; method: string; headers?: Record<string, string> },
): AfterResponse {
  const problem = renderProblem(failure, requestId);
  const headers = { ...problem.headers, ...more, 'x-content-type-options': 'nosniff' };
  const body = Buffer.from(problem.body);
  const bytes = deps.heads.get({ status: problem.status, headers, body }, body.length);
  putHead(output, bytes, requestId, 'last');
  if (method !== 'HEAD') output.write(body);
  return 'last';
}

const ends = { next: '\r\n\r\n', last: '\r\nconnection: close\r\n\r\n' };
const endBytes = { next: Buffer.from(ends.next), last: Buffer.from(ends.last) };

function putHead(
  output: OutputQueue,
  head: Uint8Array | string,
  requestId: Buffer | string,
  after: 'next' | 'last',
): void {
  if (typeof head === 'string' && typeof requestId === 'string') {
    output.write(`${head}${requestId}${ends[after]}`);
    return;
  }
  output.write(head);
  output.write(requestId);
  output.write(endBytes[after]);
}

function responseId({ clock }: ResponseDeps, { request }: RequestHead): Buffer | string {
  if (request.cachedRequestId !== null) return request.cachedRequestId;
  const sent = request.header('x-request-id');
  return sent !== null && isRequestId(sent) ? sent : clock.nextRequestId();
}

/** Uses the length of the body itself: bytes beyond a wrong content-length would be read as the next response. */
function responseFraming({ status, headers, body }: EdgeResponse, head: RequestHead): Framing {
  if (isBodilessStatus(status)) return 'nothing';
  const contentLength = headers['content-length'];
  if (head.request.method === 'HEAD') {
    if (contentLength !== undefined) return Number(contentLength);
    return body instanceof Uint8Array ? body.length : 'nothing';
  }
  if (body === null) return 0;
  if (body instanceof Uint8Array) return body.length;
  if (contentLength !== undefined) return Number(contentLength);
  return head.acceptsChunks ? 'chunks' : 'nothing';
}

function isBodilessStatus(status: number): boolean {
  return status === 304 || status === 204;
}

const lineEnd = Buffer.from('\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** Throws where the body fails or has another length than announced: the client must not take it for complete. */
export async function sendBody(output: OutputQueue, open: OpenBody, onProgress: () => void): Promise<void> {
  const { framing } = open;
  const reader = open.body.getReader();
  let left = typeof framing === 'number' ? framing : Number.POSITIVE_INFINITY;
  output.onClose = () => void reader.cancel().catch(() => {});
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (output.isClosed) return;
      if (done) break;
      onProgress();
      left -= value.length;
      if (left < 0) throw new RangeError('the body is longer than its content-length');
      if (value.length === 0) continue;
      if (framing === 'chunks') output.write(Buffer.from(`${value.length.toString(16)}\r\n`));
      output.write(value);
      if (framing === 'chunks') output.write(lineEnd);
      output.flush();
      await output.waitUntilEmpty();
    }
    if (typeof framing === 'number' && left > 0)
      throw new RangeError('the body is shorter than its content-length');
    if (framing === 'chunks') output.write(lastChunk);
    output.flush();
  } finally {
    output.onClose = null;
    void reader.cancel().catch(() => {});
  }
}

export function cancelBody(response: EdgeResponse | AppProxy): void {
  const body = 'proxy' in response ? null : response.body;
  if (body instanceof ReadableStream) void body.cancel().catch(() => {});
}
