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
  /** Up to the value of `x-request-id`. A text where the headers are not frozen: it is written once, in latin1. */
  get(response: EdgeResponse, framing: Framing): Buffer | string;
}

export function createResponseHeads(clock: Clock, strictTransport: string | null = null): ResponseHeads {
  const cache = new WeakMap<EdgeResponse['headers'], ResponseHead[]>();
  const starts = new WeakMap<EdgeResponse['headers'], Map<number, string>>();

  /** Status line and common headers: rendering them with each response took a twentieth of the time of a point read. */
  function startOf({ status, common }: EdgeResponse): string {
    const known = common && starts.get(common)?.get(status);
    if (known !== undefined) return known;
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    if (!common) return text;
    for (const name in common) text += headerLine(name, common[name] ?? '');
    const byStatus = starts.get(common) ?? new Map<number, string>();
    starts.set(common, byStatus.set(status, text));
    return text;
  }

  return {
    get(response, framing) {
      const { status, headers } = response;
      const known = cache.get(headers);
      if (known !== undefined) {
        for (const head of known) {
          if (head.status === status && head.framing === framing) return withCurrentDate(head, clock);
        }
      }
      const text = startOf(response) + renderLines(response, framing, strictTransport);
      if (known === undefined && !Object.isFrozen(headers)) return `${text}${clock.dateText}${afterDate}`;
      const bytes = Buffer.from(`${text}${clock.dateText}${afterDate}`, 'latin1');
      const head = { status, framing, bytes, dateAt: text.length, second: clock.second };
      if (known === undefined) cache.set(headers, [head]);
      else if (known.length < headsPerHeadersMax) known.push(head);
      return bytes;
    },
  };
}

const afterDate = '\r\nx-request-id: ';

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

/** By value: checking the same lines with each response took a tenth of the time of a point read. */
const commonLines = new Map(
  ['cache-control', 'content-type'].map((name) => [name, new Map<string, string>()]),
);
const valuesMax = 50;
const valueCharsMax = 256;

function headerLine(name: string, value: string): string {
  const lines = commonLines.get(name);
  const known = lines?.get(value);
  if (known !== undefined) return known;
  if (!namePattern.test(name) || !valuePattern.test(value))
    throw new RangeError(`invalid response header ${JSON.stringify(name)}`);
  const line = `${name}: ${value}\r\n`;
  if (lines && value.length <= valueCharsMax) {
    if (lines.size >= valuesMax) lines.clear();
    lines.set(value, line);
  }
  return line;
}

/** Up to the date. */
function renderLines(response: EdgeResponse, framing: Framing, strictTransport: string | null): string {
  const { headers, cookies = [] } = response;
  let text = '';
  for (const name in headers) if (name !== 'content-length') text += headerLine(name, headers[name] ?? '');
  for (const cookie of cookies) {
    if (!valuePattern.test(cookie)) throw new RangeError('invalid cookie in a response');
    text += `set-cookie: ${cookie}\r\n`;
  }
  if (strictTransport !== null && !(strictTransportHeader in headers))
    text += `${strictTransportHeader}: ${strictTransport}\r\n`;
  if (framing === 'chunks') text += 'transfer-encoding: chunked\r\n';
  else if (framing !== 'nothing') text += `content-length: ${framing}\r\n`;
  return `${text}date: `;
}

export interface Clock {
  readonly second: number;
  readonly date: Buffer;
  readonly dateText: string;
  nextRequestId(): Buffer;
  stop(): void;
}

const counterAt = 24;

export function startClock(onSecond: () => void): Clock {
  let second = 0;
  let dateText = new Date().toUTCString();
  let date = Buffer.from(dateText, 'latin1');
  const id = Buffer.alloc(36);
  id.write(Bun.randomUUIDv7(), 'latin1');
  const timer = setInterval(() => {
    second++;
    dateText = new Date().toUTCString();
    date = Buffer.from(dateText, 'latin1');
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
    get dateText() {
      return dateText;
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
