import { STATUS_CODES } from 'node:http';
import type { EdgeAnswer } from '../edge-request.ts';
import type { Clock } from './clock.ts';

/** How the end of a body is told: by its length, by chunks, or by nothing, where there is none or the connection ends. */
export type Framing = number | 'chunks' | 'nothing';

/** A head up to the value of `x-request-id`, which is its last header. */
interface ReadyHead {
  status: number;
  framing: Framing;
  bytes: Buffer;
  dateAt: number;
  second: number;
}

/** More ways of answering with one set of headers than files have: 200, 206, 304, to GET and to HEAD. */
const keptPerHeadersMax = 4;

export interface ReadyHeads {
  /** Valid until it is asked for again. */
  of(answer: EdgeAnswer, framing: Framing): Buffer;
}

/** Those of headers that can not change are kept for as long as these are. */
export function createReadyHeads(clock: Clock): ReadyHeads {
  const kept = new WeakMap<EdgeAnswer['headers'], ReadyHead[]>();
  return {
    of(answer, framing) {
      const { status, headers } = answer;
      const known = kept.get(headers);
      if (known !== undefined) {
        for (const head of known) {
          if (head.status === status && head.framing === framing) return inTime(head, clock);
        }
      }
      const head = makeHead(answer, framing, clock);
      if (known === undefined) {
        if (Object.isFrozen(headers)) kept.set(headers, [head]);
      } else if (known.length < keptPerHeadersMax) known.push(head);
      return head.bytes;
    },
  };
}

function inTime(head: ReadyHead, clock: Clock): Buffer {
  if (head.second !== clock.second) {
    head.bytes.set(clock.date, head.dateAt);
    head.second = clock.second;
  }
  return head.bytes;
}

/** The values of others are checked where they are set; once more here, since a line break in one would be an answer. */
const namePattern = /^[\w!#$%&'*+.^`|~-]+$/;
const valuePattern = /^[\t -~\x80-\xff]*$/;

function makeHead(answer: EdgeAnswer, framing: Framing, clock: Clock): ReadyHead {
  const { status, headers } = answer;
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'content-length') continue;
    if (!namePattern.test(name) || !valuePattern.test(value)) {
      throw new RangeError(`the header ${JSON.stringify(name)} can not be sent`);
    }
    text += `${name}: ${value}\r\n`;
  }
  if (framing === 'chunks') text += 'transfer-encoding: chunked\r\n';
  else if (framing !== 'nothing') text += `content-length: ${framing}\r\n`;
  text += 'date: ';
  const dateAt = text.length;
  const bytes = Buffer.from(`${text}${clock.date.toString('latin1')}\r\nx-request-id: `, 'latin1');
  return { status, framing, bytes, dateAt, second: clock.second };
}
