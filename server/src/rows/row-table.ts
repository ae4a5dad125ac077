import { escapeIdentifier as ident } from 'pg';
import { fail } from '../plumbing/problem.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { type RowShape, rowShape } from './json-rows.ts';

/** A table with what every statement about it needs, worked out once per version of it. */
export interface RowTable {
  catalogue: TableCatalogue;
  byName: ReadonlyMap<string, CatalogueColumn>;
  /** `"app_…"."t_…"` */
  from: string;
  /** Every column under its own name. */
  all: Output;
}

/** What is shown of a row, and how it is written. */
export interface Output {
  columns: readonly OutputColumn[];
  shape: RowShape;
  /** `t."c1", t."c2"`: what a statement selects for it. */
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
    from: `${ident(catalogue.schema)}.${ident(catalogue.table)}`,
    all: outputOf(catalogue.columns.map((column) => ({ column, key: column.name }))),
  };
}

export function outputOf(columns: readonly OutputColumn[]): Output {
  return {
    columns,
    shape: rowShape(columns),
    sql: columns.map(({ column }) => columnRef(column)).join(', '),
  };
}

const refs = new WeakMap<CatalogueColumn, string>();

/** `t."c3"`: the column in a statement whose table goes by `t`. */
export function columnRef(column: CatalogueColumn): string {
  let ref = refs.get(column);
  if (ref === undefined) {
    ref = `t.${ident(column.physical)}`;
    refs.set(column, ref);
  }
  return ref;
}

export function columnNamed(table: RowTable, name: string): CatalogueColumn {
  const column = table.byName.get(name);
  if (column) return column;
  // The name is of the caller's own making, and no value of a row: it may be said back.
  const said = name.length > 63 ? 'this name' : `\`${name}\``;
  throw fail('unknown_column', {
    detail: `There is no column ${said}.`,
    errors: [{ column: name.slice(0, 63), code: 'unknown_column', detail: 'is not a column of this table' }],
  });
}
