import type { EdgeRequest } from '../edge-request.ts';
import { requestIdFrom } from '../request-id.ts';
import type { Authority } from './authority.ts';
import { isNamed } from './is-text.ts';

/** Looks for headers only when asked, in the bytes as they came: of a browser's fifteen, three or four are. */
export class RawRequest implements EdgeRequest {
  readonly method: 'GET' | 'HEAD';
  readonly host: string;
  readonly path: string;
  readonly search: string;
  readonly authority: string;
  scheme: 'http' | 'https' = 'http';
  /** Null for as long as nobody has asked for it: most answers get a cheaper one. */
  knownId: string | null = null;
  readonly #bytes: Buffer;
  readonly #fields: readonly number[];

  constructor(read: {
    bytes: Buffer;
    /** Four numbers for each header: where its name begins and ends, where its value does. */
    fields: readonly number[];
    method: 'GET' | 'HEAD';
    path: string;
    search: string;
    authority: Authority;
  }) {
    this.#bytes = read.bytes;
    this.#fields = read.fields;
    this.method = read.method;
    this.path = read.path;
    this.search = read.search;
    this.host = read.authority.host;
    this.authority = read.authority.text;
  }

  requestId(): string {
    this.knownId ??= requestIdFrom(this.header('x-request-id'));
    return this.knownId;
  }

  /** Several of one name as one list, as `Headers` does it. */
  header(name: string): string | null {
    const fields = this.#fields;
    const bytes = this.#bytes;
    let found: string | null = null;
    for (let index = 0; index < fields.length; index += 4) {
      const at = fields[index] ?? 0;
      if ((fields[index + 1] ?? 0) - at !== name.length || !isNamed(bytes, at, name)) continue;
      const value = bytes.toString('latin1', fields[index + 2], fields[index + 3]);
      found = found === null ? value : `${found}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    return found;
  }
}
