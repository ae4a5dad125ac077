import type { ColumnType } from '@svc/contract/columns.ts';
import { escapeIdentifier as ident } from 'pg';
import { fail } from '../../core/problem.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { type RowShape, rowShape } from './json-rows.ts';

export interface RowTable {
  catalogue: TableCatalogue;
  byName: ReadonlyMap<string, CatalogueColumn>;
  positions: ReadonlyMap<string, { at: number; type: ColumnType }>;
  from: string;
  all: Output;
}

export interface Output {
  columns: readonly OutputColumn[];
  shape: RowShape;
  sql: string;
}

export interface OutputColumn {
  column: CatalogueColumn;
  key: string;
}

export function rowTable(catalogue: TableCatalogue): RowTable {
  return {
    catalogue,
    byName: new Map(catalogue.columns.map((column) => [column.name, column])),
    positions: new Map(catalogue.columns.map(({ name, type }, at) => [name, { at, type }])),
    from: `${ident(catalogue.schema)}.${ident(catalogue.table)}`,
    all: createOutput(catalogue.columns.map((column) => ({ column, key: column.name }))),
  };
}

export function createOutput(columns: readonly OutputColumn[]): Output {
  return {
    columns,
    shape: rowShape(columns),
    sql: columns.map(({ column }) => columnRef(column)).join(', '),
  };
}

const refs = new WeakMap<CatalogueColumn, string>();

export function columnRef(column: CatalogueColumn): string {
  let ref = refs.get(column);
  if (ref === undefined) {
    ref = `t.${ident(column.physical)}`;
    refs.set(column, ref);
  }
  return ref;
}

export function requireColumn(table: RowTable, name: string): CatalogueColumn {
  const column = table.byName.get(name);
  if (column) return column;
  // Names, unlike values, may be repeated in errors.
  const label = name.length > 63 ? 'with this name' : `\`${name}\``;
  throw fail('unknown_column', {
    detail: `The table has no column ${label}.`,
    errors: [{ column: name.slice(0, 63), code: 'unknown_column', detail: 'is not a column of this table' }],
  });
}
