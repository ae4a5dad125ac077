import type { ColumnChecks } from '@svc/contract/column-checks.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import { escapeIdentifier as ident } from 'pg';
import { fail } from '../../core/problem.ts';
import type { RowFile } from '../storage/row-files.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { always, isAlways, type PlannedCondition } from '../tables/conditions.ts';
import { type RowShape, rowShape } from './formats.ts';
import type { HashKeys, Mask } from './masks.ts';
import type { PlannedSearch } from './search.ts';

export interface RowTable {
  catalogue: TableCatalogue;
  byName: ReadonlyMap<string, CatalogueColumn>;
  positions: ReadonlyMap<string, ColumnPosition>;
  from: string;
  all: Output;
  /** Addresses the rows; not in `byName` if the caller cannot read the id. */
  key: CatalogueColumn;
  /** Orders the rows: another one than the key where ids are masked. */
  order: CatalogueColumn;
  view: TableView;
  search?: PlannedSearch;
  files?: ReadonlyMap<string, RowFile>;
  isPreview?: boolean;
  joins?: readonly Join[];
}

/** Where the value of a column stands in a row, and how it is read. */
export interface ColumnPosition {
  at: number;
  type: ColumnType;
  sqlType?: string | undefined;
  checks?: ColumnChecks | null | undefined;
}

export interface Join {
  alias: string;
  table: RowTable;
  from: CatalogueColumn;
  to: CatalogueColumn;
}

/** A column that orders rows beside a masked id. No column of a table of ours has the name. */
export const orderColumn = 'svc order';

export interface TableView {
  rows: PlannedCondition;
  columns: readonly ViewColumn[] | null;
  keys: HashKeys;
}

export const wholeView: TableView = { rows: always, columns: null, keys: { inner: '', outer: '' } };

export interface ViewColumn {
  column: CatalogueColumn;
  source: CatalogueColumn;
  cases: readonly ViewCase[];
}

export interface ViewCase {
  when: PlannedCondition;
  mask: Mask | null;
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

export function rowTable(
  catalogue: TableCatalogue,
  view: TableView,
  named: (column: CatalogueColumn) => boolean = () => true,
): RowTable {
  const seen = view.columns?.map(({ column }) => column) ?? catalogue.columns;
  const readable = seen.filter(({ name }) => name !== '');
  const key = seen.find(({ physical }) => physical === catalogue.idColumn.physical);
  const positions = catalogue.columns.flatMap((column, at) =>
    named(column) && column.name !== ''
      ? [[column.name, { at, type: column.type, sqlType: column.sqlType, checks: column.checks }] as const]
      : [],
  );
  return {
    catalogue,
    byName: new Map(readable.map((column) => [column.name, column])),
    positions: new Map(positions),
    from: catalogue.foreign?.from ?? `${ident(catalogue.schema)}.${ident(catalogue.table)}`,
    all: createOutput(readable.map((column) => ({ column, key: column.name }))),
    key: key ?? catalogue.idColumn,
    order: seen.find(({ physical }) => physical === orderColumn) ?? key ?? catalogue.idColumn,
    view,
  };
}

export function isWhole({ view }: Pick<RowTable, 'view'>): boolean {
  return view.columns === null && isAlways(view.rows);
}

/** Rows of connectors have no references. */
export const canRelate = ({ catalogue }: Pick<RowTable, 'catalogue'>) => !catalogue.foreign;

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

/** A column of a joined table. Its `physical` tells it from others in cursors; it is null where no row is joined. */
export function joinedColumn({ alias, from }: Join, column: CatalogueColumn, name: string): CatalogueColumn {
  const joined = { ...column, name, physical: `${from.physical}>${column.physical}`, nullable: true };
  refs.set(joined, `${alias}.${ident(column.physical)}`);
  return joined;
}

export const isJoined = ({ physical }: CatalogueColumn) => physical.includes('>');

export const hasColumnIn =
  ({ byName }: Pick<RowTable, 'byName'>) =>
  (name: string) =>
    byName.has(name);

export function requireColumn({ byName }: Pick<RowTable, 'byName'>, name: string): CatalogueColumn {
  return byName.get(name) ?? failUnknown(name);
}

/** A column that the caller may name in what they send, as it is stored. */
export function requireNamedColumn({ catalogue, positions }: RowTable, name: string): CatalogueColumn {
  return catalogue.columns[positions.get(name)?.at ?? -1] ?? failUnknown(name);
}

export function requireCatalogueColumn({ columns }: TableCatalogue, name: string): CatalogueColumn {
  return columns.find((column) => column.name === name) ?? failUnknown(name);
}

export function failUnknown(name: string): never {
  // Names, unlike values, may be repeated in errors.
  const label = name.length > 63 ? 'with this name' : `\`${name}\``;
  throw fail('unknown_column', {
    detail: `The table has no column ${label}.`,
    errors: [{ column: name.slice(0, 63), code: 'unknown_column', detail: 'is not a column of this table' }],
  });
}
