import type { EdgeAnswer } from '../../edge/edge-request.ts';
import type { Outlet } from './outlet.ts';
import type { Framing, ReadyHeads } from './ready-heads.ts';

const toNext = Buffer.from('\r\n\r\n');
const toNone = Buffer.from('\r\nconnection: close\r\n\r\n');

/** A body that is still to be sent, and how its end is to be told. */
export interface OpenBody {
  body: ReadableStream<Uint8Array>;
  framing: Framing;
}

/** Puts an answer into the outlet; what it gives back is to follow, piece by piece. */
export function sendAnswer(
  outlet: Outlet,
  heads: ReadyHeads,
  input: {
    answer: EdgeAnswer;
    method: 'GET' | 'HEAD';
    requestId: Uint8Array;
    isLast: boolean;
    knowsChunks: boolean;
  },
): OpenBody | null {
  const { answer } = input;
  const { body } = answer;
  const framing = framingOf(answer, input.method, input.knowsChunks);
  outlet.put(heads.of(answer, framing));
  outlet.put(input.requestId);
  outlet.put(input.isLast ? toNone : toNext);
  if (body === null) return null;
  const isWanted = input.method === 'GET' && !isBodiless(answer.status);
  if (body instanceof Uint8Array) {
    if (isWanted) outlet.put(body);
    return null;
  }
  if (isWanted) return { body, framing };
  void body.cancel().catch(() => {});
  return null;
}

/** The body's own length rather than what the headers say of it: a wrong one would be read as the next answer. */
function framingOf(answer: EdgeAnswer, method: 'GET' | 'HEAD', knowsChunks: boolean): Framing {
  const { status, headers, body } = answer;
  if (isBodiless(status)) return 'nothing';
  const said = headers['content-length'];
  if (method === 'HEAD') return said === undefined ? 'nothing' : Number(said);
  if (body === null) return 0;
  if (body instanceof Uint8Array) return body.length;
  if (said !== undefined) return Number(said);
  return knowsChunks ? 'chunks' : 'nothing';
}

function isBodiless(status: number): boolean {
  return status === 304 || status === 204;
}
