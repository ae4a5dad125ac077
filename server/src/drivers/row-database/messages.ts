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

  /** Whoever supplies the data knows the reason, so that it is empty here. */
  copyFail(): void {
    const start = this.#open(0x66, 1);
    this.#buffer[this.#end++] = 0;
    this.#close(start);
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
  /** A row with more than `rowBytesMax`, as soon as so much of it has arrived. */
  largeRow(start: Buffer): void;
  message(type: number, bytes: Buffer, start: number, end: number): void;
}

const dataRow = 0x44;
/** Parts of longer messages are copied to their place once; joining them with each chunk would copy them many times. */
const joinedBytesMax = 256 * 1024;

export class BackendMessages {
  #rest: Buffer | null = null;
  #long: LongMessage | null = null;

  constructor(private readonly rowBytesMax = Number.POSITIVE_INFINITY) {}

  read(chunk: Buffer, handler: BackendHandler): void {
    let bytes = chunk;
    if (this.#long !== null) {
      const taken = this.#add(this.#long, chunk, handler);
      if (this.#long.missing > 0) return;
      this.#long = null;
      bytes = chunk.subarray(taken);
    } else if (this.#rest !== null) bytes = Buffer.concat([this.#rest, chunk]);
    this.#rest = null;
    let at = 0;
    while (bytes.length - at >= 5) {
      const end = at + 1 + bytes.readInt32BE(at + 1);
      if (end > bytes.length) break;
      const type = bytes[at] ?? 0;
      if (type === dataRow) handler.row(bytes, at + 5, end);
      else handler.message(type, bytes, at + 5, end);
      at = end;
    }
    if (at === bytes.length) return;
    bytes = bytes.subarray(at);
    const size = bytes.length < 5 ? 0 : 1 + bytes.readInt32BE(1);
    if (size > joinedBytesMax) {
      const storedMax = bytes[0] === dataRow ? this.rowBytesMax : size;
      this.#long = new LongMessage(size, Math.min(size, storedMax));
      this.#add(this.#long, bytes, handler);
    }
    // A copy, because the socket reuses the chunk's memory.
    else this.#rest = Buffer.from(bytes);
  }

  #add(long: LongMessage, chunk: Buffer, handler: BackendHandler): number {
    const wasFull = long.isFull;
    const taken = long.add(chunk);
    const { bytes, isWhole, isFull } = long;
    if (wasFull || !isFull) return taken;
    if (!isWhole) handler.largeRow(bytes.subarray(5));
    else if (bytes[0] === dataRow) handler.row(bytes, 5, bytes.length);
    else handler.message(bytes[0] ?? 0, bytes, 5, bytes.length);
    return taken;
  }
}

class LongMessage {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
  missing: number;
  #end = 0;

  constructor(size: number, storedBytes: number) {
    this.missing = size;
    this.bytes = Buffer.allocUnsafe(storedBytes);
    this.isWhole = storedBytes === size;
  }

  get isFull(): boolean {
    return this.#end === this.bytes.length;
  }

  add(chunk: Buffer): number {
    const taken = Math.min(chunk.length, this.missing);
    this.missing -= taken;
    this.#end += chunk.copy(this.bytes, this.#end, 0, taken);
    return taken;
  }
}

/** A row that is not read because of its size. Its largest value counts as the reason. */
export class RowTooLarge extends Error {
  constructor(
    /** The place of the value in the row, and its bytes. */
    readonly value: { at: number; bytes: number },
    readonly rowBytesMax: number,
  ) {
    super(`A row has more than ${rowBytesMax} bytes.`);
    this.name = 'RowTooLarge';
  }
}

/** `row`: its start. The length of a value is before it. */
export function largestValue(row: Buffer): RowTooLarge['value'] {
  const count = row.readInt16BE(0);
  let largest = { at: 0, bytes: 0 };
  for (let [i, at] = [0, 2]; i < count && at + 4 <= row.length; i++) {
    const bytes = Math.max(0, row.readInt32BE(at));
    if (bytes > largest.bytes) largest = { at: i, bytes };
    at += 4 + bytes;
  }
  return largest;
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
