import type { Column, JsonSchema, Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { plainValues } from '../exact-json.ts';

type Row = Record<string, unknown>;

/** Rows or a row with columns that only the table knows. */
export function rowsResult(ctx: Ctx, value: unknown, rows: readonly Row[]): Result {
  return {
    // YAML's writer would show a long number as the object that keeps its digits.
    value: ctx.globals.format === 'yaml' ? plainValues(value) : value,
    view: { columns: columnsOf(rows) },
  };
}

/** Every column that some row has, in the order in which they are met. */
function columnsOf(rows: readonly Row[]): Column[] {
  const names = new Set(rows.flatMap(Object.keys));
  return [...names].map((name) => ({ title: name, value: (row) => row[name] }));
}

export const rowOutput: JsonSchema = {
  type: 'object',
  description: 'The row: one property per column of the table, or as --select names them.',
};

export const rowsOutput: JsonSchema = {
  type: 'object',
  properties: {
    data: { type: 'array', items: rowOutput },
    page: { type: 'integer' },
    per_page: { type: 'integer' },
    has_more: { type: 'boolean' },
    next_cursor: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
  required: ['data', 'page', 'per_page', 'has_more', 'next_cursor'],
};
