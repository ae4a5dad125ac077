import type { Connection as MysqlConnection } from 'mysql2';

/** The first element of a quoted part is never a placeholder. */
const placeholderPattern = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$(\d+)/g;

const converted = new Map<string, { sql: string; order: number[] }>();
const convertedMax = 1_000;

/** Statements have `$1`, `$2` …, each of them possibly several times; MySQL has `?` in the order of the text. */
export function numberedToPositional(text: string): { sql: string; order: number[] } {
  const known = converted.get(text);
  if (known) return known;
  const order: number[] = [];
  const sql = text.replace(placeholderPattern, (found, digits: string | undefined) => {
    if (digits === undefined) return found;
    order.push(Number(digits) - 1);
    return '?';
  });
  if (converted.size >= convertedMax) converted.clear();
  const result = { sql, order };
  converted.set(text, result);
  return result;
}

/** `timestamp` and `datetime`; columns of the latter are selected as text, so that only expressions over the former have it. */
const timestampTypes = [7, 12];

/** A row in the form of PostgreSQL: values as text, in the bytes of its `DataRow` message. */
export function encodeRow(row: readonly unknown[], types: readonly number[]) {
  const texts = row.map((value, at) => valueText(value, types[at] ?? 0));
  return { texts, bytes: () => dataRow(texts) };
}

function valueText(value: unknown, type: number): string | null {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value.toString('utf8');
  // A session in UTC. PostgreSQL writes no zeros at the end of a fraction.
  if (timestampTypes.includes(type))
    return `${String(value)
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, '')}+00`;
  return String(value);
}

function dataRow(texts: readonly (string | null)[]): Buffer {
  let size = 2;
  for (const text of texts) size += 4 + (text === null ? 0 : Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(size);
  let at = bytes.writeInt16BE(texts.length & 0x7fff, 0);
  for (const text of texts) {
    if (text === null) {
      at = bytes.writeInt32BE(-1, at);
      continue;
    }
    const length = bytes.write(text, at + 4);
    at = bytes.writeInt32BE(length, at) + length;
  }
  return bytes;
}

const states: Readonly<Record<number, string>> = {
  1022: '23505',
  1062: '23505',
  1048: '23502',
  1364: '23502',
  1216: '23503',
  1217: '23001',
  1451: '23001',
  1452: '23503',
  3819: '23514',
  4025: '23514',
  1369: '44000',
  1644: 'P0001',
  1906: '428C9',
  3105: '428C9',
  1054: '42703',
  1146: '42P01',
  1049: '3F000',
  1142: '42501',
  1143: '42501',
  1370: '42501',
  1290: '25006',
  1792: '25006',
  1288: '55000',
  1471: '55000',
  1264: '22003',
  1265: '22000',
  1292: '22007',
  1366: '22000',
  1406: '22001',
  1690: '22003',
  1205: '55P03',
  1213: '40P01',
  1317: '57014',
  1969: '57014',
  3024: '57014',
};

/** Without the message of the server, which repeats values. */
class MysqlError extends Error {
  readonly severity = 'ERROR';
  readonly code: string;

  constructor(code: string, name: string) {
    super(`The statement failed: ${name}.`);
    this.name = 'MysqlError';
    this.code = code;
  }
}

export function mysqlError(error: unknown): unknown {
  if (!(error instanceof Error) || !('errno' in error) || !('sqlState' in error)) return error;
  const code = states[Number(error.errno)];
  return code === undefined
    ? new MysqlError(`MY${String(error.sqlState)}`.slice(0, 5), 'code' in error ? String(error.code) : '')
    : new MysqlError(code, 'code' in error ? String(error.code) : '');
}

/** Bytes of values with a fixed length, by the type of the column; times have a byte with theirs. */
const fixedBytes: Readonly<Record<number, number>> = { 1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 8: 8, 9: 4, 13: 2 };
const timeTypes = [7, 10, 11, 12];

/** Reads the start of a row: a prepared statement has the nulls first, others have each value as text. */
export function largestMysqlValue(
  row: Buffer,
  types: readonly number[],
  isPrepared: boolean,
): { at: number; bytes: number } {
  const isNull = (at: number) => ((row[1 + ((at + 2) >> 3)] ?? 0) & (1 << ((at + 2) & 7))) !== 0;
  let largest = { at: 0, bytes: 0 };
  let offset = isPrepared ? 1 + ((types.length + 9) >> 3) : 0;
  for (const [at, type] of types.entries()) {
    if (offset >= row.length) break;
    if (isPrepared && isNull(at)) continue;
    const fixed = isPrepared ? fixedBytes[type] : undefined;
    const isTime = isPrepared && timeTypes.includes(type);
    const { bytes, start } =
      fixed !== undefined
        ? { bytes: fixed, start: offset }
        : isTime
          ? { bytes: row[offset] ?? 0, start: offset + 1 }
          : encodedLength(row, offset);
    if (bytes > largest.bytes) largest = { at, bytes };
    offset = start + bytes;
  }
  return largest;
}

function encodedLength(row: Buffer, at: number): { bytes: number; start: number } {
  const first = row[at] ?? 0;
  // Null, in a row of texts.
  if (first === 0xfb) return { bytes: 0, start: at + 1 };
  const size = first < 0xfb ? 0 : first === 0xfc ? 2 : first === 0xfd ? 3 : 6;
  if (at + 1 + size > row.length) return { bytes: 0, start: row.length };
  return size === 0
    ? { bytes: first, start: at + 1 }
    : { bytes: row.readUIntLE(at + 1, size), start: at + 1 + (size === 6 ? 8 : size) };
}

/** By connection, for its running statement. Gets the start of the row. */
export const onLargeRow = new WeakMap<MysqlConnection, (row: Buffer) => void>();

/** The members of `mysql2` used here; it would join the packets of a row in memory, however many there are. */
interface PacketParser {
  largePacketParts: { push(part: Buffer): number };
  onPacket(): void;
}

/** The connection ends: the rest of the row would have to be read first. */
export function refuseLargeRows(client: MysqlConnection, close: () => void): void {
  const { packetParser, stream } = client as unknown as {
    packetParser: PacketParser;
    stream: { destroy(): void };
  };
  packetParser.largePacketParts.push = (part) => {
    packetParser.onPacket = () => {};
    onLargeRow.get(client)?.(part);
    close();
    stream.destroy();
    return 0;
  };
}
