import { expect } from 'bun:test';
import type { TestTable } from '../support/rows.ts';

/* For tables with one column `x` beside the standard columns. */

/** Each JSON value as sent → as returned, by insert, by patch and in a batch. */
export async function expectRoundTrip(
  table: TestTable,
  cases: Readonly<Record<string, string>>,
): Promise<void> {
  const [spare] = await table.insert(`{"x":${Object.keys(cases)[0]}}`);
  for (const [sent, expected] of Object.entries(cases)) {
    const created = await table.send('POST', '', `{"x":${sent}}`);
    expect([sent, created.status, xOf(created.text)]).toEqual([sent, 201, expected]);
    const read = await table.send('GET', `/${created.body.id}?select=x`);
    expect([sent, read.text]).toEqual([sent, `{"x":${expected}}`]);
    const patched = await table.send('PATCH', `/${spare.id}`, `{"x":${sent}}`);
    expect([sent, xOf(patched.text)]).toEqual([sent, expected]);
  }
  const lines = Object.keys(cases).map((sent) => `{"x":${sent}}`);
  const batch = await table.send('POST', '', lines.join('\n'), { 'content-type': 'application/jsonl' });
  expect(batch.status).toBe(201);
  for (const [at, expected] of Object.values(cases).entries()) {
    const read = await table.send('GET', `/${batch.body.ids[at]}?select=x`);
    expect([lines[at], read.text]).toEqual([lines[at], `{"x":${expected}}`]);
  }
}

export const xOf = (text: string) => /"x":(.*),"created_at"/s.exec(text)?.[1];

/** Each is refused, with the column named, and nothing is stored: by insert, by patch and in a batch. */
export async function expectRejected(
  table: TestTable,
  values: readonly string[],
  code = 'invalid_value',
): Promise<void> {
  const count = (await table.send('GET', '/_count')).text;
  for (const sent of values) {
    const body = `{"x":${sent}}`;
    const single = await table.send('POST', '', body);
    const batch = await table.send('POST', '', `\n${body}\n`, { 'content-type': 'application/x-ndjson' });
    for (const answer of [single, batch]) expect([sent, answer.status]).toEqual([sent, 400]);
    if (single.body.code === 'malformed_json') continue;
    expect([sent, single.body.errors]).toEqual([sent, [{ column: 'x', code, detail: expect.any(String) }]]);
    expect([sent, batch.body.errors]).toEqual([
      sent,
      [{ line: 2, column: 'x', code, detail: expect.any(String) }],
    ]);
  }
  expect((await table.send('GET', '/_count')).text).toBe(count);
}

export async function expectFilterRejected(table: TestTable, values: readonly string[]): Promise<void> {
  for (const value of values) {
    for (const search of [`?x=${value}`, `?x=eq.${value}`, `?x=in.("${value}")`, `?filter=x=gt.${value}`]) {
      const answer = await table.send('GET', search);
      expect([search, answer.status, answer.body.code]).toEqual([search, 400, 'validation_failed']);
      expect((await table.send('GET', `/_count${search}`)).status).toBe(400);
    }
  }
}
