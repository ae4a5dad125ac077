import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Logger } from 'pino';
import { type Failure, fail } from '../plumbing/problem.ts';
import { bodyPieces } from '../storage/body-pieces.ts';
import { readCgiHead } from './cgi-head.ts';
import { type GitProcesses, withSettings } from './git-processes.ts';
import { createLeastSpeed, msFor } from './least-speed.ts';
import { withWords } from './with-words.ts';

export interface BackendCall {
  method: 'GET' | 'POST';
  /** Below the folder of all repositories; of ours, never of the request. */
  path: string;
  service: 'git-upload-pack' | 'git-receive-pack' | null;
  root: string;
  remoteUser: string;
  mayPush: 'yes' | 'no';
  patient: () => void;
  log: Logger;
  /** Told once, when the program has ended and how; what it returns is for whoever pushed to read. */
  onEnd: (outcome: 'done' | 'failed') => Promise<string>;
}

export const packBytesMax = 1024 ** 3;
/** The names of refs and the like come on top. */
const bodyBytesMax = packBytesMax + 16 * 1024 * 1024;
const callMsMax = 30 * 60_000;
const stderrCharsMax = 2_000;
const protocolPattern = /^[\w=:.-]{1,100}$/;

/** One request, answered by `git http-backend`; bytes move through as they come, both ways. */
export async function callHttpBackend(
  git: GitProcesses,
  request: Request,
  call: BackendCall,
): Promise<Response> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), callMsMax);
  const gone = () => ending.abort();
  request.signal.addEventListener('abort', gone, { once: true });
  const child = git.open(['http-backend'], { env: environment(request, call), signal: ending.signal });
  let complaints = '';
  child.stderr?.on('data', (piece: Buffer) => {
    if (complaints.length < stderrCharsMax) complaints += piece.toString('utf8');
  });
  const ended = once(child, 'close').then(
    async ([code]) => {
      clearTimeout(timer);
      request.signal.removeEventListener('abort', gone);
      if (code !== 0 && !ending.signal.aborted)
        call.log.warn({ code, said: complaints.slice(0, stderrCharsMax) }, 'git http-backend');
      return call.onEnd(code === 0 ? 'done' : 'failed');
    },
    (cause: unknown) => {
      clearTimeout(timer);
      throw fail('unavailable', {}, { cause });
    },
  );
  ended.catch(() => {});
  try {
    const feeding = feed(child, request, call);
    feeding.catch(gone);
    const answer = readAnswer(child, ended, { ...call, abort: gone });
    answer.catch(() => {});
    await feeding;
    return await answer;
  } catch (error) {
    gone();
    await ended.catch(() => {});
    throw error;
  }
}

function environment(request: Request, call: BackendCall): Record<string, string> {
  const { headers } = request;
  const protocol = headers.get('git-protocol') ?? '';
  const env: Record<string, string> = {
    ...withSettings({
      'http.uploadpack': 'true',
      'http.receivepack': call.mayPush === 'yes' ? 'true' : 'false',
      'http.getanyfile': 'true',
      'receive.maxInputSize': String(packBytesMax),
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
  if (/^(x-)?gzip$/i.test(headers.get('content-encoding') ?? '')) env.HTTP_CONTENT_ENCODING = 'gzip';
  return env;
}

/** The next piece is read when the program has taken this one. */
async function feed(child: ChildProcess, request: Request, call: BackendCall): Promise<void> {
  const { stdin } = child;
  if (!stdin) return;
  let isClosed = false;
  const closed = new Promise<void>((resolve) => {
    const close = () => {
      isClosed = true;
      resolve();
    };
    // It may have refused and ended: then the rest of the body is of no use to anybody.
    stdin.once('error', close);
    stdin.once('close', close);
    child.once('close', close);
  });
  let size = 0;
  const speed = createLeastSpeed();
  let askedAt = performance.now();
  for await (const piece of bodyPieces(request, { patient: call.patient, msMax: callMsMax })) {
    size += piece.byteLength;
    if (!speed.waited(performance.now() - askedAt, piece.byteLength)) throw tooSlow();
    if (size > bodyBytesMax) throw tooLarge();
    if (!isClosed && !stdin.write(piece)) await Promise.race([once(stdin, 'drain').catch(() => {}), closed]);
    askedAt = performance.now();
  }
  stdin.end();
}

async function readAnswer(
  child: ChildProcess,
  ended: Promise<string>,
  call: BackendCall & { abort: () => void },
): Promise<Response> {
  const { stdout } = child;
  if (!stdout) throw fail('unavailable');
  const pieces: AsyncIterableIterator<Buffer> = stdout[Symbol.asyncIterator]();
  let begin = Buffer.alloc(0);
  let head = readCgiHead(begin);
  while (head === null) {
    const { done, value } = await pieces.next();
    if (done) {
      await ended;
      throw fail('unavailable', { detail: 'git ended without an answer; try again.' });
    }
    begin = Buffer.concat([begin, value]);
    head = readCgiHead(begin);
  }
  const all = following(begin.subarray(head.bodyAt), pieces);
  const isPushed = call.method === 'POST' && call.service === 'git-receive-pack';
  const parts = isPushed ? withWords(all, () => ended) : all;
  let taking: Timer | undefined;
  // It is asked for the next piece when this one has been taken.
  const hand = (controller: ReadableStreamDefaultController<Uint8Array>, piece: Uint8Array) => {
    taking = setTimeout(call.abort, msFor(piece.byteLength));
    controller.enqueue(piece);
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(taking);
      const { done, value } = await parts.next();
      call.patient();
      if (!done) return hand(controller, value);
      // Whoever has all of the answer sees what follows from the request.
      await ended;
      controller.close();
    },
    cancel: () => {
      clearTimeout(taking);
      call.abort();
    },
  });
  return new Response(body, { status: head.status, headers: head.headers });
}

async function* following(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  yield* rest;
}

function tooSlow(): Failure {
  return fail('request_timeout', { detail: 'The body comes too slowly.' });
}

function tooLarge(): Failure {
  return fail('payload_too_large', { detail: `A push may be at most ${packBytesMax} bytes.` });
}
