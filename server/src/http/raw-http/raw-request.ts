import type { EdgeRequest } from '../edge-request.ts';
import { acceptRequestId } from '../headers.ts';

/** Decodes headers on demand: of a browser's fifteen headers, three or four are used. */
export class RawRequest implements EdgeRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly search: string;
  readonly authority: string;
  scheme: 'http' | 'https' = 'http';
  cachedRequestId: string | null = null;
  readonly #bytes: Buffer;
  readonly #fields: readonly number[];

  constructor(head: {
    bytes: Buffer;
    fields: readonly number[];
    method: string;
    path: string;
    search: string;
    authority: Authority;
  }) {
    this.#bytes = head.bytes;
    this.#fields = head.fields;
    this.method = head.method;
    this.path = head.path;
    this.search = head.search;
    this.host = head.authority.host;
    this.authority = head.authority.text;
  }

  requestId(): string {
    this.cachedRequestId ??= acceptRequestId(this.header('x-request-id'));
    return this.cachedRequestId;
  }

  headers(): Headers {
    const headers = new Headers();
    const fields = this.#fields;
    for (let index = 0; index < fields.length; index += 4) {
      const name = this.#bytes.toString('latin1', fields[index], fields[index + 1]);
      const value = this.#bytes.toString('latin1', fields[index + 2], fields[index + 3]);
      if (name.toLowerCase() !== 'cookie') headers.append(name, value);
    }
    // `append` would join several with commas.
    const cookie = this.header('cookie');
    if (cookie !== null) headers.set('cookie', cookie);
    return headers;
  }

  header(name: string): string | null {
    const fields = this.#fields;
    const bytes = this.#bytes;
    let joined: string | null = null;
    for (let index = 0; index < fields.length; index += 4) {
      const at = fields[index] ?? 0;
      if ((fields[index + 1] ?? 0) - at !== name.length || !equalsNameAt(bytes, at, name)) continue;
      const value = bytes.toString('latin1', fields[index + 2], fields[index + 3]);
      joined = joined === null ? value : `${joined}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    return joined;
  }
}

export interface Authority {
  text: string;
  host: string;
}

const authorityPattern = /^([\w.-]*|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

export function readAuthority(
  bytes: Buffer,
  at: number,
  end: number,
  known: Authority | null,
): Authority | 'invalid' {
  if (known !== null && end - at === known.text.length && equalsAt(bytes, at, known.text)) return known;
  const text = bytes.toString('latin1', at, end);
  const name = authorityPattern.exec(text)?.[1];
  if (name === undefined) return 'invalid';
  const host = name.toLowerCase();
  return { text, host: host.endsWith('.') ? host.slice(0, -1) : host };
}

export function equalsAt(bytes: Uint8Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (bytes[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** Case-insensitive: setting the bit 0x20 turns no other token byte into a letter or `-`. */
export function equalsNameAt(bytes: Uint8Array, at: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    if (((bytes[at + index] ?? 0) | 0x20) !== name.charCodeAt(index)) return false;
  }
  return true;
}
