import { STATUS_CODES } from 'node:http';
import type { EdgeResponse } from '../edge-request.ts';
import { strictTransportHeader } from '../headers.ts';

export type Framing = number | 'chunks' | 'nothing';

interface ResponseHead {
  status: number;
  framing: Framing;
  bytes: Buffer;
  dateAt: number;
  second: number;
}

const headsPerHeadersMax = 4;

export interface ResponseHeads {
  get(response: EdgeResponse, framing: Framing): Buffer;
}

export function createResponseHeads(clock: Clock, strictTransport: string | null = null): ResponseHeads {
  const cache = new WeakMap<EdgeResponse['headers'], ResponseHead[]>();
  return {
    get(response, framing) {
      const { status, headers } = response;
      const known = cache.get(headers);
      if (known !== undefined) {
        for (const head of known) {
          if (head.status === status && head.framing === framing) return withCurrentDate(head, clock);
        }
      }
      const head = renderHead(response, framing, clock, strictTransport);
      if (known === undefined) {
        if (Object.isFrozen(headers)) cache.set(headers, [head]);
      } else if (known.length < headsPerHeadersMax) known.push(head);
      return head.bytes;
    },
  };
}

function withCurrentDate(head: ResponseHead, clock: Clock): Buffer {
  if (head.second !== clock.second) {
    head.bytes.set(clock.date, head.dateAt);
    head.second = clock.second;
  }
  return head.bytes;
}

/** Values are checked where they are set, and again here: a line break would allow response splitting. */
const namePattern = /^[\w!#$%&'*+.^`|~-]+$/;
const valuePattern = /^[\t -~\x80-\xff]*$/;

function renderHead(
  response: EdgeResponse,
  framing: Framing,
  clock: Clock,
  strictTransport: string | null,
): ResponseHead {
  const { status, headers, cookies = [] } = response;
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'content-length') continue;
    if (!namePattern.test(name) || !valuePattern.test(value)) {
      throw new RangeError(`invalid response header ${JSON.stringify(name)}`);
    }
    text += `${name}: ${value}\r\n`;
  }
  for (const cookie of cookies) {
    if (!valuePattern.test(cookie)) throw new RangeError('invalid cookie in a response');
    text += `set-cookie: ${cookie}\r\n`;
  }
  if (strictTransport !== null && !(strictTransportHeader in headers))
    text += `${strictTransportHeader}: ${strictTransport}\r\n`;
  if (framing === 'chunks') text += 'transfer-encoding: chunked\r\n';
  else if (framing !== 'nothing') text += `content-length: ${framing}\r\n`;
  text += 'date: ';
  const dateAt = text.length;
  const bytes = Buffer.from(`${text}${clock.date.toString('latin1')}\r\nx-request-id: `, 'latin1');
  return { status, framing, bytes, dateAt, second: clock.second };
}

export interface Clock {
  readonly second: number;
  readonly date: Buffer;
  nextRequestId(): Buffer;
  stop(): void;
}

const counterAt = 24;

export function startClock(onSecond: () => void): Clock {
  let second = 0;
  let date = httpDate();
  const id = Buffer.alloc(36);
  id.write(Bun.randomUUIDv7(), 'latin1');
  const timer = setInterval(() => {
    second++;
    date = httpDate();
    // A new UUID carries the time; in between, its last digits are incremented, because a new one costs too much.
    id.write(Bun.randomUUIDv7(), 'latin1');
    onSecond();
  }, 1_000);
  timer.unref();
  return {
    get second() {
      return second;
    },
    get date() {
      return date;
    },
    nextRequestId() {
      incrementId(id);
      return id;
    },
    stop: () => clearInterval(timer),
  };
}

function incrementId(id: Buffer): void {
  for (let at = id.length - 1; at >= counterAt; at--) {
    const digit = id[at];
    if (digit === 0x66) {
      id[at] = 0x30;
      continue;
    }
    id[at] = digit === 0x39 ? 0x61 : (digit ?? 0x30) + 1;
    return;
  }
}

function httpDate(): Buffer {
  return Buffer.from(new Date().toUTCString(), 'latin1');
}
