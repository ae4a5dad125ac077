import { once } from 'node:events';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { fail } from '../../core/problem.ts';
import type { GitChild } from '../../drivers/git/git-sandbox.ts';
import { bodyChunks } from '../../http/read-body.ts';
import { msAllowedFor, requireMinimumRate } from '../minimum-rate.ts';
import type { PushMessage } from './deps.ts';
import { type GitProcesses, settingsEnvironment } from './git-processes.ts';

interface BackendCall {
  method: 'GET' | 'POST';
  /** Path below `root`, built from the repository's folder and never from the request. */
  path: string;
  service: 'git-upload-pack' | 'git-receive-pack' | null;
  root: string;
  remoteUser: string;
  canPush: boolean;
  body: AsyncIterable<Uint8Array>;
  extendTimeout: () => void;
  log: Logger;
  /** Called instead of `onEnd` if git cannot be started, or its end is not known. */
  onFail: () => Promise<void>;
  /** Returns messages for the person who pushed. The signal is aborted when the client disconnects. */
  onEnd: (signal: AbortSignal) => Promise<AsyncIterable<PushMessage>>;
}

const packBytesMax = 1024 ** 3;
/** A push body holds ref names and options besides the pack. */
const bodyBytesMax = packBytesMax + 16 * 1024 * 1024;
const callMsMax = 30 * 60_000;
const stderrCharsMax = 2_000;
const protocolPattern = /^[\w=:.-]{1,100}$/;

export async function callHttpBackend(git: GitProcesses, request: Request, call: BackendCall) {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), callMsMax);
  const abort = () => ending.abort();
  request.signal.addEventListener('abort', abort, { once: true });
  const child = git.open(join(call.root, call.path.split('/')[1] ?? ''), ['http-backend'], {
    env: cgiEnvironment(request, call),
    signal: ending.signal,
  });
  let stderr = '';
  child.stderr?.on('data', (piece: Buffer) => {
    if (stderr.length < stderrCharsMax) stderr += piece.toString('utf8');
  });
  const ended = once(child, 'close').then(
    async ([code]) => {
      clearTimeout(timer);
      request.signal.removeEventListener('abort', abort);
      if (code !== 0 && !ending.signal.aborted)
        call.log.warn({ code, stderr: stderr.slice(0, stderrCharsMax) }, 'git http-backend failed');
      return call.onEnd(ending.signal);
    },
    async (cause: unknown) => {
      clearTimeout(timer);
      request.signal.removeEventListener('abort', abort);
      await call.onFail();
      throw fail('unavailable', {}, { cause });
    },
  );
  ended.catch(() => {});
  try {
    const feeding = sendBody(child, call.body);
    feeding.catch(abort);
    const answer = readResponse(child, ended, { ...call, abort });
    answer.catch(() => {});
    await feeding;
    return await answer;
  } catch (error) {
    abort();
    await ended.catch(() => {});
    throw error;
  }
}

function cgiEnvironment(request: Request, call: BackendCall): Record<string, string> {
  const { headers } = request;
  const protocol = headers.get('git-protocol') ?? '';
  const env: Record<string, string> = {
    ...settingsEnvironment({
      'http.uploadpack': 'true',
      'http.receivepack': call.canPush ? 'true' : 'false',
      'http.getanyfile': 'true',
      'receive.maxInputSize': String(packBytesMax),
      'receive.advertisePushOptions': 'true',
    }),
    GATEWAY_INTERFACE: 'CGI/1.1',
    GIT_PROJECT_ROOT: call.root,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: call.path,
    REQUEST_METHOD: call.method,
    QUERY_STRING: call.method === 'GET' && call.service !== null ? `service=${call.service}` : '',
    REMOTE_USER: call.remoteUser,
  };
  if (call.method === 'POST') env.CONTENT_TYPE = `application/x-${call.service}-request`;
  if (protocolPattern.test(protocol)) env.GIT_PROTOCOL = protocol;
  if (isCompressed(request)) env.HTTP_CONTENT_ENCODING = 'gzip';
  return env;
}

export function isCompressed({ headers }: Request): boolean {
  return /^(x-)?gzip$/i.test(headers.get('content-encoding') ?? '');
}

export function requestBody(request: Request, extendTimeout: () => void): AsyncGenerator<Uint8Array> {
  return requireMinimumRate(bodyChunks(request, { extendTimeout, msMax: callMsMax }));
}

async function sendBody(child: GitChild, body: AsyncIterable<Uint8Array>): Promise<void> {
  const { stdin } = child;
  if (!stdin) return;
  let isClosed = false;
  const closed = new Promise<void>((resolve) => {
    const close = () => {
      isClosed = true;
      resolve();
    };
    // git may reject the push and end early: the rest of the body is then discarded.
    stdin.once('error', close);
    stdin.once('close', close);
    child.once('close', close);
  });
  let size = 0;
  for await (const piece of body) {
    size += piece.byteLength;
    if (size > bodyBytesMax)
      throw fail('payload_too_large', { detail: `A push can be at most ${packBytesMax} bytes.` });
    if (!isClosed && !stdin.write(piece)) await Promise.race([once(stdin, 'drain').catch(() => {}), closed]);
  }
  stdin.end();
}

async function readResponse(
  child: GitChild,
  ended: Promise<AsyncIterable<PushMessage>>,
  call: BackendCall & { abort: () => void },
): Promise<Response> {
  const { stdout } = child;
  if (!stdout) throw fail('unavailable');
  const pieces: AsyncIterableIterator<Buffer> = stdout[Symbol.asyncIterator]();
  let begin = Buffer.alloc(0);
  let head = parseCgiHead(begin);
  while (head === null) {
    const { done, value } = await pieces.next();
    if (done) {
      await ended;
      throw fail('unavailable', { detail: 'git ended without a response. Try again.' });
    }
    begin = Buffer.concat([begin, value]);
    head = parseCgiHead(begin);
  }
  const all = prepend(begin.subarray(head.bodyAt), pieces);
  const isPushed = call.method === 'POST' && call.service === 'git-receive-pack';
  const output = isPushed ? appendMessages(all, () => ended) : all;
  let writeTimer: Timer | undefined;
  // The next pull comes when the client has taken this chunk: aborts if that takes too long.
  const send = (controller: ReadableStreamDefaultController<Uint8Array>, piece: Uint8Array) => {
    writeTimer = setTimeout(call.abort, msAllowedFor(piece.byteLength));
    controller.enqueue(piece);
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(writeTimer);
      const { done, value } = await output.next();
      call.extendTimeout();
      if (!done) return send(controller, value);
      // The response ends only after onEnd, so that the client sees the effects of its push.
      await ended;
      controller.close();
    },
    cancel: () => {
      clearTimeout(writeTimer);
      call.abort();
    },
  });
  return new Response(body, { status: head.status, headers: head.headers });
}

export async function* prepend(
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  yield* rest;
}

interface CgiHead {
  status: number;
  headers: Record<string, string>;
  bodyAt: number;
}

const headBytesMax = 16 * 1024;
const forwardedHeaders = new Set(['content-type', 'cache-control', 'expires', 'pragma']);

/** Parses a CGI response header (RFC 3875 §6.2); null if it is not complete yet. */
export function parseCgiHead(bytes: Buffer): CgiHead | null {
  const text = bytes.subarray(0, headBytesMax).toString('latin1');
  const end = /\r?\n\r?\n/.exec(text);
  if (!end) {
    if (bytes.length > headBytesMax) throw new Error('git http-backend sent no CGI header.');
    return null;
  }
  const head: CgiHead = { status: 200, headers: {}, bodyAt: end.index + end[0].length };
  for (const line of text.slice(0, end.index).split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([\w-]+): *(.*)$/.exec(line) ?? [];
    if (/^status$/i.test(name)) head.status = Number(value.slice(0, 3)) || 500;
    else if (forwardedHeaders.has(name.toLowerCase())) head.headers[name.toLowerCase()] = value;
  }
  return head;
}

const flush = '0000';
const messageBand = 2;
const errorBand = 3;
const packetBytesMax = 65_515;

/** Bytes pass through as they come; only the last four are buffered until the messages are known. */
export async function* appendMessages(
  pieces: AsyncIterable<Uint8Array>,
  messages: () => Promise<AsyncIterable<PushMessage>>,
): AsyncGenerator<Uint8Array> {
  let tail = Buffer.alloc(0);
  let hasBands: boolean | null = null;
  for await (const piece of pieces) {
    tail = Buffer.concat([tail, piece]);
    if (tail.length <= flush.length) continue;
    // Without side bands the response is the bare report, whose packets begin with letters.
    hasBands ??= [1, 2, 3].includes(tail.readUInt8(flush.length));
    yield tail.subarray(0, -flush.length);
    tail = tail.subarray(-flush.length);
  }
  const texts = await messages();
  if (hasBands && tail.toString('latin1') === flush)
    // An empty message keeps the connection alive; the client prints nothing.
    for await (const message of texts) yield messagePacket(message);
  if (tail.length > 0) yield tail;
}

function messagePacket(message: PushMessage): Buffer {
  const [band, content] = typeof message === 'string' ? [messageBand, message] : [errorBand, message.failure];
  const text = Buffer.from(content).subarray(0, packetBytesMax);
  const length = (flush.length + 1 + text.length).toString(16).padStart(flush.length, '0');
  return Buffer.concat([Buffer.from(length, 'latin1'), Buffer.from([band]), text]);
}
