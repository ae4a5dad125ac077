import type { ColumnSpec } from '@svc/contract/column-spec.ts';
import { tablesPerAppMax } from '@svc/contract/columns.ts';
import type { addIndex, createTable } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import { indexRecord, specOf, tableRecord } from './rules.ts';
import { type ColumnRow, listTableRows, type TableRow } from './store.ts';

/** All that it takes to make a table of the same shape elsewhere; nothing of its rows, and nobody's right to them. */
export type TableDefinition = z.output<typeof createTable.body> & {
  /** Columns that the service keeps, under another name than it gives them. */
  renames?: readonly { from: string; to: string }[];
  indexes?: readonly z.output<typeof addIndex.body>[];
};

/** For other slices: how each table of an app is made, by its name. */
export async function tableDefinitions(db: Db, place: AppPlace): Promise<TableDefinition[]> {
  const { rows } = await listTableRows(db, place, { limit: tablesPerAppMax, offset: 0 });
  return rows.map(definitionOf);
}

export function definitionOf(row: TableRow): TableDefinition {
  const { name, description, owner_column } = tableRecord(row);
  const renamed = row.columns.filter((column) => isRenamed(row, column));
  return {
    ...{ name, description, owner_column },
    columns: row.columns.flatMap((column) => declared(row, column)),
    renames: renamed.map((column) => ({ from: column.role, to: column.name })),
    indexes: row.indexes.map((index) => {
      const { name, columns, unique } = indexRecord(row, index);
      return { name, columns, unique };
    }),
  };
}

/** Those that a new table gets by itself are not declared. */
function declared(row: TableRow, column: ColumnRow): ColumnSpec[] {
  const { role, name, type, default_text } = column;
  if (role === 'plain') return [specOf(column)];
  if (role === 'id') return type === 'uuid' && default_text === null ? [] : [specOf(column)];
  if (name === role || isRenamed(row, column)) return [];
  // Its first name was given to another: the service keeps no second one.
  return [{ ...specOf(column), default: 'now()' }];
}

function isRenamed({ columns }: TableRow, { role, name }: ColumnRow): boolean {
  if (role === 'plain' || role === 'id' || name === role) return false;
  return !columns.some((other) => other.name === role);
}
