import { type HeaderFields, HeaderList } from '../../../http/headers.ts';

export interface ResponseHead {
  status: number;
  headers: HeaderFields;
  /** The end of the body (RFC 9112, 6.3): a number of bytes, at the last chunk, or with the connection. */
  body: number | 'chunked' | 'close';
  isReusable: boolean;
}

const headBytesMax = 64 * 1024;
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/;
const fieldLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*$/;

export function findHead(bytes: Buffer): { text: string; length: number } | null {
  const at = bytes.indexOf('\r\n\r\n');
  // A lone LF may end a line too (RFC 9112, 2.2).
  const bare = bytes.subarray(0, at < 0 ? headBytesMax : at).indexOf('\n\n');
  const [end, length] = bare >= 0 ? [bare, bare + 2] : [at, at + 4];
  if (end >= 0 && end <= headBytesMax) return { text: bytes.toString('latin1', 0, end), length };
  if (bytes.length > headBytesMax) throw new Error('The head of the response is too long.');
  if (!'HTTP/1.'.startsWith(bytes.toString('latin1', 0, Math.min(bytes.length, 7))))
    throw new Error('The response is not HTTP/1.1.');
  return null;
}

/** Apps send equal heads within a second, and without a date for longer. */
const known = { HEAD: new Map<string, ResponseHead>(), other: new Map<string, ResponseHead>() };
const knownMax = 200;
const knownCharsMax = 2_048;

export function parseHead(text: string, method: string): ResponseHead {
  const heads = method === 'HEAD' ? known.HEAD : known.other;
  let head = heads.get(text);
  if (head === undefined) {
    head = parseFields(text, method);
    if (heads.size >= knownMax) heads.clear();
    if (text.length <= knownCharsMax) heads.set(text, head);
  }
  return head;
}

function parseFields(text: string, method: string): ResponseHead {
  const [first = '', ...lines] = text.split(/\r?\n/);
  const [, minor, status] = statusLine.exec(first) ?? [];
  if (status === undefined) throw new Error('The response has no status line.');
  const headers = new HeaderList();
  let length: string | null = null;
  for (const line of lines) {
    const [, sent = '', value = ''] = fieldLine.exec(line) ?? [];
    if (sent === '') throw new Error('The response has an invalid header.');
    const name = sent.toLowerCase();
    if (name === 'content-length') {
      if (!/^\d{1,15}$/.test(value) || (length !== null && length !== value))
        throw new Error('The response has an invalid Content-Length.');
      length = value;
      headers.set(name, value);
    } else headers.append(name, value);
  }
  const code = Number(status);
  const coding = headers.get('transfer-encoding')?.toLowerCase() ?? null;
  const options = headers.get('connection')?.toLowerCase() ?? '';
  let body: ResponseHead['body'] = 'close';
  if (method === 'HEAD' || code < 200 || code === 204 || code === 304) body = 0;
  else if (coding !== null) body = /(?:^|,)\s*chunked$/.test(coding) ? 'chunked' : 'close';
  else if (length !== null) body = Number(length);
  // The two lengths may be read differently by whoever comes next (RFC 9112, 6.1).
  if (coding !== null) headers.delete('content-length');
  const isAmbiguous = coding !== null && length !== null;
  const keepsAlive = minor === '1' ? !/\bclose\b/.test(options) : /\bkeep-alive\b/.test(options);
  return { status: code, headers, body, isReusable: keepsAlive && !isAmbiguous && body !== 'close' };
}

/** Passes the bytes of the body to `piece`; returns how many bytes belong to the message, and whether it has ended. */
interface BodyDecoder {
  push(bytes: Buffer, piece: (bytes: Buffer) => void): { used: number; isEnd: boolean };
}

export function createBodyDecoder(body: ResponseHead['body']): BodyDecoder {
  if (body === 'chunked') return createChunkDecoder();
  let left = body === 'close' ? Number.POSITIVE_INFINITY : body;
  return {
    push(bytes, piece) {
      const used = Math.min(left, bytes.length);
      left -= used;
      if (used > 0) piece(used === bytes.length ? bytes : bytes.subarray(0, used));
      return { used, isEnd: left === 0 };
    },
  };
}

/** Limit of a line with a chunk's size and extensions, and of a trailer, which is dropped. */
const lineBytesMax = 4096;

function createChunkDecoder(): BodyDecoder {
  let state: 'size' | 'data' | 'dataEnd' | 'trailer' = 'size';
  let left = 0;
  let line = '';

  function afterLine(text: string): typeof state | null {
    if (state === 'dataEnd') {
      if (text !== '') throw new Error('A chunk of the response is longer than its size.');
      return 'size';
    }
    if (state === 'trailer') return text === '' ? null : 'trailer';
    const size = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(text)?.[1];
    if (size === undefined) throw new Error('A chunk of the response has no size.');
    left = Number.parseInt(size, 16);
    return left === 0 ? 'trailer' : 'data';
  }

  return {
    push(bytes, piece) {
      let at = 0;
      while (at < bytes.length) {
        if (state === 'data') {
          const end = Math.min(bytes.length, at + left);
          piece(bytes.subarray(at, end));
          left -= end - at;
          at = end;
          if (left === 0) state = 'dataEnd';
          continue;
        }
        const newline = bytes.indexOf(10, at);
        const end = newline < 0 ? bytes.length : newline + 1;
        line += bytes.toString('latin1', at, end);
        at = end;
        if (line.length > lineBytesMax) throw new Error('A chunk of the response has no size.');
        if (newline < 0) break;
        if (!line.endsWith('\r\n')) throw new Error('A line of the response does not end with CRLF.');
        const next = afterLine(line.slice(0, -2));
        line = '';
        if (next === null) return { used: at, isEnd: true };
        state = next;
      }
      return { used: at, isEnd: false };
    },
  };
}
