import { urlBytesMax } from '@svc/contract/limits.ts';
import { type Failure, fail } from '../../core/problem.ts';
import { type Authority, equalsAt, equalsNameAt, RawRequest, readAuthority } from './raw-request.ts';

export const headBytesMax = 64 * 1024;
export const headTooLarge = malformedError(`The request head is longer than ${headBytesMax} bytes.`);

export interface RequestHead {
  request: RawRequest;
  authority: Authority;
  /** The start of the path: behind the origin if the target is an absolute URL. */
  pathAt: number;
  targetAt: number;
  end: number;
  /** Length of the body. */
  body: number | 'chunked';
  /** Has an `Expect` or `Upgrade` header. */
  isSpecial: boolean;
  /** The line of an `Expect` header in HTTP/1.0 (RFC 9110 §10.1.1). */
  ignored: { from: number; to: number } | null;
  isLast: boolean;
  acceptsChunks: boolean;
}

const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const slash = 0x2f;
const zero = 0x30;
const colon = 0x3a;
const questionMark = 0x3f;
const underscore = 0x5f;

/** Bytes of a token (method, header name), a request target and a header value (RFC 9110 §5.5, §5.6.2). */
const inToken = byteClass(/[!#$%&'*+.^_`|~0-9A-Za-z-]/);
const inTarget = byteClass(/[!-"$-~]/);
const inValue = byteClass(/[\t -~\x80-\xff]/);

/**
 * RFC 9112 without what it merely tolerates: whatever two parsers could read differently is an error. Null:
 * incomplete head.
 */
export function parseHead(
  bytes: Buffer,
  from: number,
  known: Authority | null,
): RequestHead | Failure | null {
  const limit = Math.min(bytes.length, from + headBytesMax);
  let at = from;
  while (at < limit && inToken[bytes[at] ?? 0] === 1) at++;
  if (at === limit) return incomplete(limit - from);
  if (at === from || bytes[at] !== space) return malformedError('The request line has no method.');
  const methodEnd = at;
  const targetAt = ++at;
  let pathEnd = 0;
  for (; at < limit && inTarget[bytes[at] ?? 0] === 1; at++) {
    if (bytes[at] === questionMark && pathEnd === 0) pathEnd = at;
  }
  if (at - targetAt > urlBytesMax) return fail('uri_too_long');
  if (at === limit) return incomplete(limit - from);
  if (at === targetAt || bytes[at] !== space) return malformedError('The request line has no valid target.');
  const targetEnd = at++;
  if (limit - at < 10) return couldBeVersion(bytes, at, limit) ? incomplete(limit - from) : versionError();
  if (!couldBeVersion(bytes, at, at + 10)) return versionError();
  const minor = (bytes[at + 7] ?? 0) - 0x30;
  at += 10;

  // Four numbers per header: start and end of its name, start and end of its value.
  const fields: number[] = [];
  let isSpecial = false;
  let expectation: RequestHead['ignored'] = null;
  let isLast = minor === 0;
  let body: number | 'chunked' | null = null;
  let hosts = 0;
  let hostAt = 0;
  let hostEnd = 0;
  for (;;) {
    if (at === limit) return incomplete(limit - from);
    const nameAt = at;
    if (bytes[at] === cr) {
      if (at + 1 === limit) return incomplete(limit - from);
      if (bytes[at + 1] !== lf) return malformedError('A line ends with CR alone.');
      at += 2;
      break;
    }
    while (at < limit && inToken[bytes[at] ?? 0] === 1) at++;
    if (at === limit) return incomplete(limit - from);
    if (at === nameAt || bytes[at] !== colon) return malformedError('A header has no valid name.');
    const nameEnd = at++;
    while (at < limit && isBlank(bytes[at])) at++;
    const valueAt = at;
    while (at < limit && inValue[bytes[at] ?? 0] === 1) at++;
    if (at === limit) return incomplete(limit - from);
    if (bytes[at] !== cr) return malformedError('A header has a control character in its value.');
    if (at + 1 === limit) return incomplete(limit - from);
    if (bytes[at + 1] !== lf) return malformedError('A line ends with CR alone.');
    let valueEnd = at;
    while (valueEnd > valueAt && isBlank(bytes[valueEnd - 1])) valueEnd--;
    at += 2;
    fields.push(nameAt, nameEnd, valueAt, valueEnd);
    switch (nameEnd - nameAt) {
      case 4:
        if (!equalsNameAt(bytes, nameAt, 'host')) break;
        hosts++;
        hostAt = valueAt;
        hostEnd = valueEnd;
        break;
      case 6:
        if (!equalsNameAt(bytes, nameAt, 'expect')) break;
        if (valueEnd - valueAt !== 12 || !equalsAt(bytes, valueAt, '100-continue'))
          return malformedError('The Expect header is not 100-continue.');
        if (expectation !== null) return malformedError('The request has more than one Expect header.');
        expectation = { from: nameAt, to: at };
        isSpecial = true;
        break;
      case 7:
        if (equalsNameAt(bytes, nameAt, 'upgrade')) isSpecial = true;
        break;
      case 10:
        if (!equalsNameAt(bytes, nameAt, 'connection')) break;
        for (const option of readOptions(bytes, valueAt, valueEnd)) {
          if (option === 'close') isLast = true;
          else if (notHopByHop.has(option))
            return malformedError(`The Connection header names ${option}, which is not of one connection.`);
        }
        break;
      case 14:
        if (equalsWithUnderscore(bytes, nameAt, 'content', 'length')) return underscoreError();
        if (!equalsNameAt(bytes, nameAt, 'content-length')) break;
        if (body !== null) return malformedError('The length of the body is given more than once.');
        body = readLength(bytes, valueAt, valueEnd);
        if (body === null) return malformedError('The Content-Length is not a number.');
        break;
      case 17:
        if (equalsWithUnderscore(bytes, nameAt, 'transfer', 'encoding')) return underscoreError();
        if (!equalsNameAt(bytes, nameAt, 'transfer-encoding')) break;
        if (body !== null) return malformedError('The length of the body is given more than once.');
        if (minor === 0 || valueEnd - valueAt !== 7 || !equalsAt(bytes, valueAt, 'chunked'))
          return malformedError('The Transfer-Encoding is not chunked.');
        body = 'chunked';
        break;
    }
  }

  if (hosts > 1) return malformedError('The request has more than one Host header.');
  if (hosts === 0 && minor === 1) return malformedError('The request has no Host header.');
  const authority = hosts === 0 ? noAuthority : readAuthority(bytes, hostAt, hostEnd, known);
  if (authority === 'invalid') return malformedError('The Host header is not valid.');

  const method = readMethod(bytes, from, methodEnd);
  if (method === null) return fail('method_not_allowed', { headers: { allow: methods.join(', ') } });
  let pathAt = targetAt;
  if (bytes[targetAt] !== slash) {
    const length = originLength(bytes.toString('latin1', targetAt, targetEnd), authority.text);
    if (length === null) return malformedError('The request target is neither a path nor a URL of the Host.');
    pathAt += length;
  }
  const path = bytes.toString('latin1', pathAt, pathEnd === 0 ? targetEnd : pathEnd) || '/';
  const search = pathEnd === 0 ? '' : bytes.toString('latin1', pathEnd + 1, targetEnd);
  const request = new RawRequest({ bytes, fields, method, path, search, authority });
  return {
    request,
    authority,
    targetAt,
    pathAt,
    end: at,
    body: body ?? 0,
    isSpecial,
    ignored: minor === 0 ? expectation : null,
    isLast,
    acceptsChunks: minor === 1,
  };
}

const noAuthority: Authority = { text: '', host: '' };

/** A partial request is parsed again only then: slow clients must not cost CPU time. */
export function mayHaveEnded(bytes: Buffer, knownBytes: number, neededBytes: number): boolean {
  if (neededBytes > 0) return bytes.length >= neededBytes;
  if (bytes.length >= headBytesMax) return true;
  const from = Math.max(0, knownBytes - 2);
  return bytes.indexOf('\n\r\n', from) >= 0 || bytes.indexOf('\n\n', from) >= 0;
}

/** The head for the general server: an absolute target is passed on as its path (RFC 9112 §3.2.1). */
export function originForm(bytes: Buffer, head: RequestHead, from: number): Buffer {
  const { pathAt, targetAt, ignored, end } = head;
  if (pathAt === targetAt && ignored === null) return bytes.subarray(from, end);
  const root = Buffer.from(bytes[pathAt] === slash ? '' : '/');
  const rest = ignored === null ? [] : [bytes.subarray(pathAt, ignored.from)];
  return Buffer.concat([
    bytes.subarray(from, targetAt),
    root,
    ...rest,
    bytes.subarray(ignored?.to ?? pathAt, end),
  ]);
}

function incomplete(length: number): Failure | null {
  return length < headBytesMax ? null : headTooLarge;
}

/** Apps may speak WebDAV. Other methods are for proxies, or unknown to the general server. */
const methods =
  'GET HEAD POST PUT PATCH DELETE OPTIONS PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK REPORT SEARCH MKCALENDAR'.split(
    ' ',
  );

function readMethod(bytes: Buffer, from: number, end: number): string | null {
  const length = end - from;
  for (const method of methods) if (method.length === length && equalsAt(bytes, from, method)) return method;
  return null;
}

const lengthDigitsMax = 15;

function readLength(bytes: Buffer, at: number, end: number): number | null {
  if (end === at || end - at > lengthDigitsMax || (bytes[at] === zero && end - at > 1)) return null;
  let length = 0;
  for (; at < end; at++) {
    const digit = (bytes[at] ?? 0) - zero;
    if (digit < 0 || digit > 9) return null;
    length = length * 10 + digit;
  }
  return length;
}

/** The length of the origin of an absolute URL (RFC 9112 §3.2.2); null where its host differs from the Host header. */
function originLength(target: string, text: string): number | null {
  const [origin, named] = /^https?:\/\/([^/?]*)(?=[/?]|$)/i.exec(target) ?? [];
  return origin !== undefined && named?.toLowerCase() === text.toLowerCase() ? origin.length : null;
}

const versionLine = 'HTTP/1.?\r\n';

function couldBeVersion(bytes: Uint8Array, at: number, limit: number): boolean {
  for (let index = 0; at + index < limit; index++) {
    const byte = bytes[at + index];
    if (index === 7 ? byte !== 0x30 && byte !== 0x31 : byte !== versionLine.charCodeAt(index)) return false;
  }
  return true;
}

function isBlank(byte: number | undefined): boolean {
  return byte === space || byte === 0x09;
}

/** A proxy would remove them if `Connection` named them (RFC 9110 §7.6.1), and read another body or host. */
const notHopByHop = new Set(['content-length', 'transfer-encoding', 'host']);

function readOptions(bytes: Buffer, at: number, end: number): string[] {
  const options = bytes.toString('latin1', at, end).toLowerCase().split(',');
  return options.map((option) => option.trim());
}

/** CGI and WSGI read `_` in a name as `-`. */
function equalsWithUnderscore(bytes: Buffer, at: number, before: string, after: string): boolean {
  return (
    bytes[at + before.length] === underscore &&
    equalsNameAt(bytes, at, before) &&
    equalsNameAt(bytes, at + before.length + 1, after)
  );
}

function malformedError(detail: string): Failure {
  return fail('validation_failed', { detail });
}

function underscoreError(): Failure {
  return malformedError('The length of the body is given with an underscore.');
}

function versionError(): Failure {
  return malformedError('The request line does not end with HTTP/1.1 or HTTP/1.0.');
}

function byteClass(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (pattern.test(String.fromCharCode(byte)) ? 1 : 0));
}
