import { expect, test } from 'bun:test';
import type { FileRecord } from '@svc/contract/csv.ts';
import { batchBytesMax } from '@svc/contract/rows.ts';
import { addRecord, type Batch, type BatchLimits, type BatchStart, batches, readAhead } from './batches.ts';
import { convertJsonLine } from './convert-record.ts';

function recordsOf(lines: readonly string[]): FileRecord[] {
  return lines.map((line, at) => ({ line: at + 1, bytes: new TextEncoder().encode(line), end: at + 1 }));
}

async function* pieces(records: readonly FileRecord[], size = 3): AsyncGenerator<FileRecord[]> {
  for (let at = 0; at < records.length; at += size) yield records.slice(at, at + size);
}

function cut(records: readonly FileRecord[], limits: BatchLimits, start?: BatchStart): Promise<Batch[]> {
  return Array.fromAsync(batches(pieces(records), convertJsonLine, limits, start));
}

const ten = recordsOf(Array.from({ length: 10 }, (_, at) => `{"n":${at}}`));

test('batches are cut at the number of lines, and numbered', async () => {
  const found = await cut(ten, { lines: 4 });
  expect(found.map(({ number, records, end }) => [number, records, end])).toEqual([
    [1, 4, 4],
    [2, 4, 8],
    [3, 2, 10],
  ]);
  expect(found.flatMap(({ rows }) => rows.map(({ line }) => line))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('batches stay below the size limit of a request', async () => {
  const long = `{"text":"${'é'.repeat(400_000)}"}`;
  const found = await cut(recordsOf(Array.from({ length: 50 }, () => long)), { lines: 10_000 });
  expect(found.length).toBeGreaterThan(2);
  for (const { rows } of found) {
    const body = rows.map(({ json }) => `${json}\n`).join('');
    expect(Buffer.byteLength(body)).toBeLessThan(batchBytesMax);
  }
});

test('a resumed file is divided and counted like an uninterrupted one', async () => {
  const whole = await cut(ten, { lines: 3 });
  const hasher = new Bun.CryptoHasher('sha256');
  for (const record of ten.slice(0, 6)) addRecord(hasher, record);
  expect(hasher.copy().digest('hex')).toBe(whole[1]!.sha256);
  const rest = await cut(ten.slice(6), { lines: 3 }, { batches: 2, hasher });
  expect(rest).toEqual(whole.slice(2));
});

test('the first batch can have its previous size, and the others a new one', async () => {
  const found = await cut(ten, { lines: 2, firstRecords: 5 });
  expect(found.map(({ records }) => records)).toEqual([5, 2, 2, 1]);
});

test('bad and empty lines count towards a batch', async () => {
  const broken = { line: 2, bytes: new Uint8Array([0xff]), end: 2 };
  const [batch] = await cut([ten[0]!, broken, { ...recordsOf([''])[0]!, line: 3 }], { lines: 10 });
  expect([batch?.records, batch?.rows.length, batch?.faults.map(({ fault }) => fault.line)]).toEqual([
    3,
    1,
    [2],
  ]);
});

test('reading ahead keeps order and errors, and ends with its consumer', async () => {
  const ahead = readAhead(
    (async function* () {
      yield 1;
      yield 2;
      throw new Error('unreadable');
    })(),
  );
  const seen: number[] = [];
  const failed = (async () => {
    for await (const item of ahead) seen.push(item);
  })();
  expect(failed).rejects.toThrow('unreadable');
  await failed.catch(() => undefined);
  expect(seen).toEqual([1, 2]);
  const silent = readAhead(
    (async function* () {
      yield 1;
      await new Promise(() => {});
      yield 2;
    })(),
  );
  for await (const _ of silent) break;
});
