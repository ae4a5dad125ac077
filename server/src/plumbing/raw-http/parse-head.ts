import { urlBytesMax } from '@svc/contract/limits.ts';
import { type Failure, fail } from '../problem.ts';
import { type Authority, readAuthority } from './authority.ts';
import { isNamed, isText } from './is-text.ts';
import { RawRequest } from './raw-request.ts';

export const headBytesMax = 16 * 1024;

/** Of a request that can be answered here. */
export interface Head {
  request: RawRequest;
  authority: Authority;
  /** Where the next one begins. */
  end: number;
  /** No other request is to follow on this connection. */
  isLast: boolean;
  /** HTTP/1.0 does not. */
  knowsChunks: boolean;
}

const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const slash = 0x2f;
const colon = 0x3a;
const questionMark = 0x3f;

/** By byte: of a token (method, name of a header), of a request target, of a header's value (RFC 9110, 5.5 and 5.6). */
const inToken = bytesLike(/[!#$%&'*+.^_`|~0-9A-Za-z-]/);
const inTarget = bytesLike(/[!-"$-~]/);
const inValue = bytesLike(/[\t -~\x80-\xff]/);

/**
 * Reads one request head by RFC 9112 and nothing it merely tolerates: what two readers could understand in two ways is
 * refused. Null where it is not yet complete; `hand-over` for what is no plain GET or HEAD, where the general server has
 * an answer to it. `known` is the authority of the request before, mostly the same again.
 */
export function parseHead(
  bytes: Buffer,
  from: number,
  known: Authority | null,
): Head | 'hand-over' | Failure | null {
  const limit = Math.min(bytes.length, from + headBytesMax);
  let at = from;
  while (at < limit && inToken[bytes[at] ?? 0] === 1) at++;
  if (at === limit) return incomplete(limit - from);
  if (at === from || bytes[at] !== space) return malformed('The request line has no method.');
  const methodEnd = at;
  const targetAt = ++at;
  let pathEnd = 0;
  for (; at < limit && inTarget[bytes[at] ?? 0] === 1; at++) {
    if (bytes[at] === questionMark && pathEnd === 0) pathEnd = at;
  }
  if (at - targetAt > urlBytesMax) return fail('uri_too_long');
  if (at === limit) return incomplete(limit - from);
  if (at === targetAt || bytes[at] !== space) return malformed('The request line has no valid target.');
  const targetEnd = at++;
  if (limit - at < 10) return couldBeVersion(bytes, at, limit) ? incomplete(limit - from) : wrongVersion();
  if (!couldBeVersion(bytes, at, at + 10)) return wrongVersion();
  const minor = (bytes[at + 7] ?? 0) - 0x30;
  at += 10;

  // Four numbers for each header: where its name begins and ends, where its value does.
  const fields: number[] = [];
  let isPlain = true;
  let isLast = minor === 0;
  let hosts = 0;
  let hostAt = 0;
  let hostEnd = 0;
  for (;;) {
    if (at === limit) return incomplete(limit - from);
    const nameAt = at;
    if (bytes[at] === cr) {
      if (at + 1 === limit) return incomplete(limit - from);
      if (bytes[at + 1] !== lf) return malformed('A line ends with CR alone.');
      at += 2;
      break;
    }
    while (at < limit && inToken[bytes[at] ?? 0] === 1) at++;
    if (at === limit) return incomplete(limit - from);
    if (at === nameAt || bytes[at] !== colon) return malformed('A header has no valid name.');
    const nameEnd = at++;
    while (at < limit && isBlank(bytes[at])) at++;
    const valueAt = at;
    while (at < limit && inValue[bytes[at] ?? 0] === 1) at++;
    if (at === limit) return incomplete(limit - from);
    if (bytes[at] !== cr) return malformed('A header has a control character in its value.');
    if (at + 1 === limit) return incomplete(limit - from);
    if (bytes[at + 1] !== lf) return malformed('A line ends with CR alone.');
    let valueEnd = at;
    while (valueEnd > valueAt && isBlank(bytes[valueEnd - 1])) valueEnd--;
    at += 2;
    fields.push(nameAt, nameEnd, valueAt, valueEnd);
    switch (nameEnd - nameAt) {
      case 4:
        if (!isNamed(bytes, nameAt, 'host')) break;
        hosts++;
        hostAt = valueAt;
        hostEnd = valueEnd;
        break;
      case 6:
        if (isNamed(bytes, nameAt, 'expect')) isPlain = false;
        break;
      case 7:
        if (isNamed(bytes, nameAt, 'upgrade')) isPlain = false;
        break;
      case 10:
        if (isNamed(bytes, nameAt, 'connection') && saysClose(bytes, valueAt, valueEnd)) isLast = true;
        break;
      case 14:
        if (isNamed(bytes, nameAt, 'content-length')) isPlain = false;
        break;
      case 17:
        if (isNamed(bytes, nameAt, 'transfer-encoding')) isPlain = false;
        break;
    }
  }

  if (hosts > 1) return malformed('There is more than one Host header.');
  if (hosts === 0 && minor === 1) return malformed('There is no Host header.');
  const authority = hosts === 0 ? null : readAuthority(bytes, hostAt, hostEnd, known);
  if (authority === 'invalid') return malformed('The Host header is not valid.');

  const method = methodOf(bytes, from, methodEnd);
  if (method === null && !isHandedOver(bytes, from, methodEnd))
    return fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
  if (!isPlain || method === null || authority === null || authority.host === '') return 'hand-over';
  let pathAt = targetAt;
  if (bytes[targetAt] !== slash) {
    const own = originLength(bytes.toString('latin1', targetAt, targetEnd), authority);
    if (own === null) return malformed('The request target is neither a path nor an address at its Host.');
    pathAt += own;
  }
  // An address may end with its host.
  const path = bytes.toString('latin1', pathAt, pathEnd === 0 ? targetEnd : pathEnd) || '/';
  const search = pathEnd === 0 ? '' : bytes.toString('latin1', pathEnd + 1, targetEnd);
  const request = new RawRequest({ bytes, fields, method, path, search, authority });
  return { request, authority, end: at, isLast, knowsChunks: minor === 1 };
}

/** What came is right so far. */
function incomplete(length: number): Failure | null {
  return length < headBytesMax
    ? null
    : malformed(`The head of the request is longer than ${headBytesMax} bytes.`);
}

function methodOf(bytes: Buffer, from: number, end: number): 'GET' | 'HEAD' | null {
  if (end - from === 3 && isText(bytes, from, 'GET')) return 'GET';
  return end - from === 4 && isText(bytes, from, 'HEAD') ? 'HEAD' : null;
}

/** Of a whole address (RFC 9112, 3.2.2). One that names another host than Host does could be read in two ways. */
function originLength(target: string, { text }: Authority): number | null {
  const [origin, named] = /^https?:\/\/([^/?]*)(?=[/?]|$)/i.exec(target) ?? [];
  return origin !== undefined && named?.toLowerCase() === text.toLowerCase() ? origin.length : null;
}

const handedOver = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** The general server hangs up on methods that it does not know. */
function isHandedOver(bytes: Buffer, from: number, end: number): boolean {
  return end - from <= 7 && handedOver.includes(bytes.toString('latin1', from, end));
}

const versionLine = 'HTTP/1.?\r\n';

/** So far as it is there. */
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

function saysClose(bytes: Buffer, at: number, end: number): boolean {
  return bytes
    .toString('latin1', at, end)
    .toLowerCase()
    .split(',')
    .some((option) => option.trim() === 'close');
}

function malformed(detail: string): Failure {
  return fail('validation_failed', { detail });
}

function wrongVersion(): Failure {
  return malformed('The request line does not end with HTTP/1.1 or HTTP/1.0.');
}

function bytesLike(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (pattern.test(String.fromCharCode(byte)) ? 1 : 0));
}
