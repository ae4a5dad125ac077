import { sqlState } from '../plumbing/database-errors.ts';
import { type Failure, fail } from '../plumbing/problem.ts';
import type { RowTable } from './row-table.ts';

/** What the database's refusal of a row statement means to the caller; null where it is no matter of rows. */
export function failureOfRow(error: unknown, table: RowTable, line?: number): Failure | null {
  const code = sqlState(error);
  if (code === null) return null;
  const where = line === undefined ? {} : { line };
  if (code === '23505') {
    const columns = columnsOf(error, table);
    const named = columns.length === 0 ? '' : ` for ${columns.join(', ')}`;
    return fail(
      'unique_violation',
      {
        detail: `A row with this value${named} exists already.`,
        errors: (columns.length === 0 ? [undefined] : columns).map((column) => ({
          ...where,
          ...(column === undefined ? {} : { column }),
          code: 'unique_violation',
          detail: 'exists already',
        })),
      },
      { cause: error },
    );
  }
  // Two lines of a batch that name one row in two spellings: an instant with two offsets, 0 and -0.
  if (code === '21000') {
    const detail = 'names the same row as another line';
    return fail(
      'validation_failed',
      { detail: `A line ${detail}.`, errors: [{ ...where, code: 'duplicate_in_batch', detail }] },
      { cause: error },
    );
  }
  // Values that passed every check and that the database can not hold: a number in JSON beyond its range, a text too
  // long for its index, a row too wide for a page.
  if (/^22/.test(code) || code === '54000' || code === '54001') {
    const detail = code === '54000' ? 'is too large for the database or for an index' : 'can not be stored';
    return fail(
      'validation_failed',
      { detail: `A value ${detail}.`, errors: [{ ...where, code: 'invalid_value', detail }] },
      { cause: error },
    );
  }
  return null;
}

/** The table has changed since it was looked up: names that are gone, a column that must now be given. */
export function isOutdated(error: unknown): boolean {
  const code = sqlState(error);
  return (
    code !== null && ['42703', '42P01', '0A000', '3F000', '42804', '23502', '26000', '42P10'].includes(code)
  );
}

function columnsOf(error: unknown, table: RowTable): string[] {
  const constraint = error instanceof Error && 'constraint' in error ? error.constraint : null;
  const index = table.catalogue.unique.find(({ physical }) => physical === constraint);
  if (index) return index.columns.map(({ name }) => name);
  return typeof constraint === 'string' && constraint.startsWith('i_') ? [] : [table.catalogue.idColumn.name];
}
