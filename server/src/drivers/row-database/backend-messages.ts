/** Takes the server's messages apart, whatever pieces they arrive in. */
export interface BackendHandler {
  /** A row: its body lies in `bytes` from `start` to `end` and is only valid during the call. */
  row(bytes: Buffer, start: number, end: number): void;
  /** Any other message, by its type byte. */
  message(type: number, bytes: Buffer, start: number, end: number): void;
}

export class BackendMessages {
  /** The beginning of a message whose end has not come yet. */
  #rest: Buffer | null = null;

  read(chunk: Buffer, handler: BackendHandler): void {
    let bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = null;
    let at = 0;
    while (bytes.length - at >= 5) {
      const end = at + 1 + bytes.readInt32BE(at + 1);
      if (end > bytes.length) break;
      const type = bytes[at] ?? 0;
      if (type === 0x44) handler.row(bytes, at + 5, end);
      else handler.message(type, bytes, at + 5, end);
      at = end;
    }
    if (at === bytes.length) return;
    bytes = bytes.subarray(at);
    // A copy: the chunk's memory is the socket's to use again.
    this.#rest = Buffer.from(bytes);
  }
}

/** The values of one row as text. */
export function rowValues(bytes: Buffer, start: number): (string | null)[] {
  const count = bytes.readInt16BE(start);
  const values: (string | null)[] = new Array(count);
  let at = start + 2;
  for (let i = 0; i < count; i++) {
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length < 0) {
      values[i] = null;
      continue;
    }
    values[i] = bytes.toString('utf8', at, at + length);
    at += length;
  }
  return values;
}

/** Why the server refused: its SQL state, and of the rest only what is ours (names we gave, the line of a COPY). */
export class ServerError extends Error {
  readonly severity: string;
  readonly code: string;
  readonly constraint: string | null;
  readonly column: string | null;
  /** Of a COPY: which line. */
  readonly where: string | null;

  constructor(fields: ReadonlyMap<string, string>) {
    super(fields.get('M') ?? 'The database gave no reason.');
    this.name = 'ServerError';
    this.severity = fields.get('V') ?? fields.get('S') ?? 'ERROR';
    this.code = fields.get('C') ?? '';
    this.constraint = fields.get('n') ?? null;
    this.column = fields.get('c') ?? null;
    this.where = fields.get('W') ?? null;
  }
}

export function serverError(bytes: Buffer, start: number, end: number): ServerError {
  const fields = new Map<string, string>();
  let at = start;
  while (at < end && bytes[at] !== 0) {
    const name = String.fromCharCode(bytes[at] ?? 0);
    const stop = bytes.indexOf(0, at + 1);
    if (stop < 0 || stop >= end) break;
    fields.set(name, bytes.toString('utf8', at + 1, stop));
    at = stop + 1;
  }
  return new ServerError(fields);
}
