export class FrontendMessages {
  #buffer = Buffer.allocUnsafe(64 * 1024);
  #end = 0;

  get isEmpty(): boolean {
    return this.#end === 0;
  }

  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#end);
    // The socket may still use the returned bytes, so only the rest of the buffer can be written to.
    this.#buffer = this.#buffer.subarray(this.#end);
    this.#end = 0;
    if (this.#buffer.length < 4 * 1024 || taken.length > 64 * 1024)
      this.#buffer = Buffer.allocUnsafe(64 * 1024);
    return taken;
  }

  parse(name: string, text: string): void {
    const start = this.#open(0x50, 8 + text.length * 3 + name.length);
    this.#string(name);
    this.#string(text);
    this.#int16(0);
    this.#close(start);
  }

  bind(name: string, values: readonly (string | null)[]): void {
    let most = 16 + name.length;
    for (const value of values) most += 4 + (value === null ? 0 : value.length * 3);
    const start = this.#open(0x42, most);
    this.#buffer[this.#end++] = 0;
    this.#string(name);
    this.#int16(0);
    this.#int16(values.length);
    for (const value of values) {
      if (value === null) {
        this.#int32(-1);
        continue;
      }
      const at = this.#end;
      this.#end += 4;
      const bytes = this.#buffer.write(value, this.#end);
      this.#buffer.writeInt32BE(bytes, at);
      this.#end += bytes;
    }
    this.#int16(0);
    this.#close(start);
  }

  execute(): void {
    const start = this.#open(0x45, 16);
    this.#buffer[this.#end++] = 0;
    this.#int32(0);
    this.#close(start);
  }

  closeStatement(name: string): void {
    const start = this.#open(0x43, 8 + name.length);
    this.#buffer[this.#end++] = 0x53;
    this.#string(name);
    this.#close(start);
  }

  sync(): void {
    this.#close(this.#open(0x53, 8));
  }

  flush(): void {
    this.#close(this.#open(0x48, 8));
  }

  /** Only the header: the caller writes the data directly to the socket, which saves copying a large batch. */
  copyHead(dataBytes: number): void {
    this.#reserve(8);
    this.#buffer[this.#end++] = 0x64;
    this.#int32(4 + dataBytes);
  }

  copyDone(): void {
    this.#close(this.#open(0x63, 8));
  }

  #open(type: number, bodyBytesMost: number): number {
    this.#reserve(bodyBytesMost + 8);
    this.#buffer[this.#end++] = type;
    const start = this.#end;
    this.#end += 4;
    return start;
  }

  #close(start: number): void {
    this.#buffer.writeInt32BE(this.#end - start, start);
  }

  #string(text: string): void {
    this.#end += this.#buffer.write(text, this.#end);
    this.#buffer[this.#end++] = 0;
  }

  #int16(value: number): void {
    this.#end = this.#buffer.writeInt16BE(value, this.#end);
  }

  #int32(value: number): void {
    this.#end = this.#buffer.writeInt32BE(value, this.#end);
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#end + bytes, 64 * 1024));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}

interface BackendHandler {
  row(bytes: Buffer, start: number, end: number): void;
  message(type: number, bytes: Buffer, start: number, end: number): void;
}

export class BackendMessages {
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
    // A copy, because the socket reuses the chunk's memory.
    this.#rest = Buffer.from(bytes);
  }
}

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

/** An error of the server without its detail, which can contain values: SQL state, names and the line of a COPY. */
export class ServerError extends Error {
  readonly severity: string;
  readonly code: string;
  readonly constraint: string | null;
  readonly table: string | null;
  readonly column: string | null;
  readonly where: string | null;

  constructor(fields: ReadonlyMap<string, string>) {
    super(fields.get('M') ?? 'Unknown database error.');
    this.name = 'ServerError';
    this.severity = fields.get('V') ?? fields.get('S') ?? 'ERROR';
    this.code = fields.get('C') ?? '';
    this.constraint = fields.get('n') ?? null;
    this.table = fields.get('t') ?? null;
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
