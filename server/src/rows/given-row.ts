import type { RowsCtx } from './context.ts';
import { JsonRows, valuesFrom } from './json-rows.ts';
import type { Output } from './row-table.ts';
import type { Statement } from './sql.ts';

/** One row as a statement gave it back: its JSON, and what stands behind the columns shown. */
export interface GivenRow {
  json: Uint8Array;
  /** Its version; of a write, before that its id. */
  rest: (string | null)[];
}

export type Run = (
  text: string,
  values: Statement['values'],
  onRow: (bytes: Buffer, start: number) => void,
) => Promise<unknown>;

/** Runs a statement that gives back one row at most. */
export async function oneRow(
  run: Run,
  { text, values }: Statement,
  output: Output,
  restCount: number,
): Promise<GivenRow | null> {
  let given: GivenRow | null = null;
  await run(text, values, (bytes, start) => {
    const row = new JsonRows(1024);
    const end = row.row(output.shape, bytes, start);
    given = { json: row.taken(), rest: valuesFrom(bytes, end, restCount) };
  });
  return given;
}

export const read =
  (ctx: RowsCtx): Run =>
  (text, values, onRow) =>
    ctx.rowDb.run('point', text, values, onRow);
export const write =
  (ctx: RowsCtx): Run =>
  (text, values, onRow) =>
    ctx.rowDb.run('write', text, values, onRow);

export function parsedRow(row: GivenRow | null): Record<string, unknown> {
  return JSON.parse(row ? Buffer.from(row.json).toString('utf8') : '{}');
}
