import type { Logger } from 'pino';
import type { EdgeAnswer } from '../edge-request.ts';
import { Failure, fail, problemAnswer } from '../problem.ts';
import { isRequestId } from '../request-id.ts';
import type { Clock } from './clock.ts';
import type { Outlet } from './outlet.ts';
import type { Head } from './parse-head.ts';
import type { Framing, ReadyHeads } from './ready-heads.ts';

/** What answers are made with. */
export interface Answers {
  log: Logger;
  clock: Clock;
  heads: ReadyHeads;
  /** Whatever is answered now is the last on its connection. */
  isStopping: boolean;
}

/** A body that is still to be sent, and how its end is to be told. */
export interface OpenBody {
  body: ReadableStream<Uint8Array>;
  framing: Framing;
  isLast: boolean;
}

/** What is to follow on the connection: the next answer, none, or the rest of this one. */
export type Sent = 'next' | 'last' | OpenBody;

/** Puts an answer into the outlet. */
export function sendAnswer(outlet: Outlet, answers: Answers, head: Head, answer: EdgeAnswer): Sent {
  const { method } = head.request;
  const framing = framingOf(answer, head);
  let bytes: Uint8Array;
  try {
    bytes = answers.heads.of(answer, framing);
  } catch (error) {
    return sendFault(outlet, answers, head, error);
  }
  const isLast = head.isLast || answers.isStopping;
  const after = isLast ? 'last' : 'next';
  putHead(outlet, bytes, requestIdOf(answers, head), after);
  const { body } = answer;
  if (body === null) return after;
  const isWanted = method === 'GET' && !isBodiless(answer.status);
  if (body instanceof Uint8Array) {
    if (isWanted) outlet.put(body);
    return after;
  }
  if (isWanted) return { body, framing, isLast };
  void body.cancel().catch(() => {});
  return after;
}

/** For what nobody could answer in a nicer way. */
export function sendFault(outlet: Outlet, answers: Answers, head: Head, error: unknown): Sent {
  const requestId = Buffer.from(requestIdOf(answers, head)).toString('latin1');
  if (!(error instanceof Failure)) {
    const { host, path } = head.request;
    answers.log.error({ err: error, request_id: requestId, host, path }, 'a fault of the server');
  }
  const failure = error instanceof Failure ? error : fail('internal');
  return sendProblem(outlet, answers, { failure, requestId, method: head.request.method });
}

/** For what is no request: nothing after it can be understood either. */
export function sendRefusal(outlet: Outlet, answers: Answers, failure: Failure): Sent {
  const requestId = answers.clock.nextId().toString('latin1');
  answers.log.debug({ request_id: requestId, detail: failure.message }, 'a request was refused');
  return sendProblem(outlet, answers, { failure, requestId, method: 'GET' });
}

function sendProblem(
  outlet: Outlet,
  answers: Answers,
  { failure, requestId, method }: { failure: Failure; requestId: string; method: 'GET' | 'HEAD' },
): Sent {
  const problem = problemAnswer(failure, requestId);
  const headers = { ...problem.headers, 'x-content-type-options': 'nosniff' };
  const body = Buffer.from(problem.body);
  const bytes = answers.heads.of({ status: problem.status, headers, body }, body.length);
  putHead(outlet, bytes, Buffer.from(requestId), 'last');
  if (method === 'GET') outlet.put(body);
  return 'last';
}

const toNext = Buffer.from('\r\n\r\n');
const toNone = Buffer.from('\r\nconnection: close\r\n\r\n');

function putHead(outlet: Outlet, bytes: Uint8Array, requestId: Uint8Array, after: 'next' | 'last'): void {
  outlet.put(bytes);
  outlet.put(requestId);
  outlet.put(after === 'last' ? toNone : toNext);
}

function requestIdOf({ clock }: Answers, { request }: Head): Uint8Array {
  const sent = request.knownId ?? request.header('x-request-id');
  return sent !== null && isRequestId(sent) ? Buffer.from(sent) : clock.nextId();
}

/** The body's own length rather than what the headers say of it: a wrong one would be read as the next answer. */
function framingOf({ status, headers, body }: EdgeAnswer, head: Head): Framing {
  if (isBodiless(status)) return 'nothing';
  const said = headers['content-length'];
  if (head.request.method === 'HEAD') return said === undefined ? 'nothing' : Number(said);
  if (body === null) return 0;
  if (body instanceof Uint8Array) return body.length;
  if (said !== undefined) return Number(said);
  return head.knowsChunks ? 'chunks' : 'nothing';
}

function isBodiless(status: number): boolean {
  return status === 304 || status === 204;
}
