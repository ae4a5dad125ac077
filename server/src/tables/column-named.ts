import { fail } from '../plumbing/problem.ts';
import type { ColumnRow, TableRow } from './store.ts';

export function columnNamed(row: TableRow, name: string): ColumnRow {
  const column = row.columns.find((it) => it.name === name);
  if (!column) throw fail('not_found', { detail: 'The table has no such column.' });
  return column;
}
