import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  BackendMessages,
  FrontendMessages,
  largestValue,
  rowValues,
  ServerError,
  serverError,
} from './messages.ts';

function message(type: string, body: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function dataRow(values: readonly (string | null)[]): Buffer {
  const parts = values.map((value) => {
    const bytes = Buffer.from(value ?? '');
    const length = Buffer.alloc(4);
    length.writeInt32BE(value === null ? -1 : bytes.length);
    return Buffer.concat([length, bytes]);
  });
  const count = Buffer.alloc(2);
  count.writeInt16BE(values.length);
  return message('D', Buffer.concat([count, ...parts]));
}

const errorBody = (fields: Record<string, string>) =>
  Buffer.from(
    `${Object.entries(fields)
      .map(([name, value]) => `${name}${value}\0`)
      .join('')}\0`,
  );

type Read =
  | { row: (string | null)[] }
  | { largest: { at: number; bytes: number }; stored: number }
  | { type: string; body: string };

function readChunks(chunks: readonly Buffer[], rowBytesMax?: number): Read[] {
  const read: Read[] = [];
  const incoming = new BackendMessages(rowBytesMax);
  for (const chunk of chunks) {
    // A socket reuses the memory after the handler returns.
    const own = Buffer.from(chunk);
    incoming.read(own, {
      row: (bytes, start) => read.push({ row: rowValues(bytes, start) }),
      largeRow: (start) => read.push({ largest: largestValue(start), stored: start.length }),
      message: (type, bytes, start, end) =>
        read.push({ type: String.fromCharCode(type), body: bytes.toString('latin1', start, end) }),
    });
    own.fill(0xff);
  }
  return read;
}

function splitAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const borders = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b),
    bytes.length,
  ];
  return borders.slice(1).map((border, at) => bytes.subarray(borders[at], border));
}

const value = fc.option(fc.string({ unit: 'grapheme' }));

describe('backend messages', () => {
  test('are parsed with any chunk boundaries, also inside a character', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.array(value), fc.constantFrom('Z', 'C', '1', '2', 'n')), { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (items, places) => {
          const bytes = Buffer.concat(
            items.map((item) => (typeof item === 'string' ? message(item, Buffer.from('x')) : dataRow(item))),
          );
          const expected = items.map((item) =>
            typeof item === 'string' ? { type: item, body: 'x' } : { row: item },
          );
          expect(readChunks(splitAt(bytes, places))).toEqual(expected);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('are parsed byte by byte', () => {
    const bytes = Buffer.concat([dataRow(['ü😀', null, '']), message('Z', Buffer.from('I'))]);
    expect(readChunks([...bytes].map((byte) => Buffer.from([byte])))).toEqual([
      { row: ['ü😀', null, ''] },
      { type: 'Z', body: 'I' },
    ]);
  });

  test('with a row larger than a chunk are parsed', () => {
    const long = 'ä'.repeat(700_000);
    const bytes = dataRow([long]);
    const places = Array.from({ length: 50 }, (_, at) => at * 16_411);
    expect(readChunks(splitAt(bytes, places))).toEqual([{ row: [long] }]);
  });

  test('with a row above the limit pass on its largest value, without the row, and go on', () => {
    const long = 'y'.repeat(900_000);
    const [small, large] = [dataRow(['1', null, 'a'.repeat(400_000)]), dataRow(['2', null, 'x', long, 'z'])];
    const bytes = Buffer.concat([small, large, small, message('Z', Buffer.from('I'))]);
    const limit = 600_000;
    const expected: Read[] = [
      { row: ['1', null, 'a'.repeat(400_000)] },
      { largest: { at: 3, bytes: 900_000 }, stored: limit - 5 },
      { row: ['1', null, 'a'.repeat(400_000)] },
      { type: 'Z', body: 'I' },
    ];
    for (const step of [16_411, 65_536, 300_001]) {
      const places = Array.from({ length: Math.ceil(bytes.length / step) }, (_, at) => at * step);
      expect(readChunks(splitAt(bytes, places), limit)).toEqual(expected);
    }
    // Just at the limit.
    expect(readChunks(splitAt(large, [1_000]), large.length)).toHaveLength(1);
    expect(readChunks(splitAt(large, [1_000]), large.length)[0]).toHaveProperty('row');
    expect(readChunks(splitAt(large, [1_000]), large.length - 1)[0]).toHaveProperty('largest');
  });

  test('an error has SQL state, names and the COPY line, but no detail', () => {
    const body = errorBody({
      S: 'FEHLER',
      V: 'ERROR',
      C: '23505',
      M: 'duplicate key',
      D: 'Key (email)=(secret@example.test) already exists.',
      n: 'i_1',
      c: 'c2',
      W: 'COPY t, line 3',
    });
    const error = serverError(body, 0, body.length);
    expect(error).toBeInstanceOf(ServerError);
    expect({ ...error, message: error.message }).toMatchObject({
      severity: 'ERROR',
      code: '23505',
      constraint: 'i_1',
      column: 'c2',
      where: 'COPY t, line 3',
    });
    expect(JSON.stringify({ ...error, message: error.message })).not.toContain('secret');
  });

  test('a truncated error is still an error', () => {
    for (const text of ['', '\0', 'C23505', 'C23505\0M']) {
      const bytes = Buffer.from(text);
      expect(serverError(bytes, 0, bytes.length)).toBeInstanceOf(ServerError);
    }
  });
});

function parseSent(bytes: Buffer): { type: string; body: Buffer }[] {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readInt32BE(at + 1);
    found.push({ type: String.fromCharCode(bytes[at] ?? 0), body: bytes.subarray(at + 5, at + 1 + length) });
    at += 1 + length;
  }
  return found;
}

function boundValues(body: Buffer): (string | null)[] {
  const portalEnd = body.indexOf(0);
  const nameEnd = body.indexOf(0, portalEnd + 1);
  expect(body.readInt16BE(nameEnd + 1)).toBe(0);
  const count = body.readInt16BE(nameEnd + 3);
  let at = nameEnd + 5;
  const values = Array.from({ length: count }, () => {
    const length = body.readInt32BE(at);
    at += 4;
    if (length < 0) return null;
    at += length;
    return body.toString('utf8', at - length, at);
  });
  expect(body.subarray(at)).toEqual(Buffer.from([0, 0]));
  return values;
}

describe('frontend messages', () => {
  test('bind any values as text and null as null', () => {
    fc.assert(
      fc.property(fc.array(fc.array(value), { maxLength: 6 }), (statements) => {
        const out = new FrontendMessages();
        for (const values of statements) out.bind('s1', values);
        const found = parseSent(out.take());
        expect(found.map(({ type, body }) => [type, boundValues(body)])).toEqual(
          statements.map((values) => ['B', values]),
        );
        expect(out.isEmpty).toBe(true);
      }),
    );
  });

  test('grow the buffer for large values', () => {
    const out = new FrontendMessages();
    const long = '😀'.repeat(100_000);
    out.bind('s', ['a']);
    out.bind('s', [long, null, long]);
    out.sync();
    const [first, second, third] = parseSent(out.take());
    expect(boundValues(first?.body ?? Buffer.alloc(0))).toEqual(['a']);
    expect(boundValues(second?.body ?? Buffer.alloc(0))).toEqual([long, null, long]);
    expect(third?.type).toBe('S');
  });

  test('do not overwrite bytes that were taken', () => {
    const out = new FrontendMessages();
    const taken: { bytes: Buffer; copy: Buffer }[] = [];
    for (let i = 0; i < 400; i++) {
      out.parse(`s${i}`, `select ${'x'.repeat(i)}`);
      out.copyHead(i);
      const bytes = out.take();
      taken.push({ bytes, copy: Buffer.from(bytes) });
    }
    for (const { bytes, copy } of taken) expect(bytes.equals(copy)).toBe(true);
  });

  test('have their type and length', () => {
    const out = new FrontendMessages();
    out.parse('n', 'select 1');
    out.execute();
    out.closeStatement('n');
    out.flush();
    out.copyDone();
    out.sync();
    expect(parseSent(out.take()).map(({ type, body }) => [type, body.toString('latin1')])).toEqual([
      ['P', 'n\0select 1\0\0\0'],
      ['E', '\0\0\0\0\0'],
      ['C', 'Sn\0'],
      ['H', ''],
      ['c', ''],
      ['S', ''],
    ]);
    out.copyHead(2);
    const copied = parseSent(Buffer.concat([out.take(), Buffer.from('1\n')]));
    expect(copied.map(({ type, body }) => [type, body.toString('latin1')])).toEqual([['d', '1\n']]);
  });
});
