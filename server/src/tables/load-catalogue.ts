import type { Db } from '../plumbing/db.ts';
import {
  type CatalogueColumn,
  columnOf,
  indexOf,
  schemaOf,
  type TableCatalogue,
  tableOf,
} from './catalogue.ts';
import { defaultOf } from './column-default.ts';
import { findTableRow, type TableRow } from './store.ts';

/** A table as the row path needs it, by its name or id; null when the app has none such. */
export async function loadCatalogue(
  db: Db,
  { tenantId, appId, name }: { tenantId: string; appId: string; name: string },
): Promise<TableCatalogue | null> {
  const row = await findTableRow(db, { tenantId, appId }, name);
  return row ? catalogueOf(row) : null;
}

export function catalogueOf(row: TableRow): TableCatalogue {
  const byNumber = new Map<number, CatalogueColumn>(
    row.columns.map((column) => [
      column.number,
      {
        name: column.name,
        physical: columnOf(column.number),
        type: column.type,
        nullable: column.nullable,
        default: defaultOf(column),
        role: column.number === row.owner_column ? 'owner' : column.role,
      },
    ]),
  );
  const columns = [...byNumber.values()];
  const idColumn = columns.find((column) => column.role === 'id');
  if (!idColumn) throw new Error(`Table ${row.id} has no id column.`);
  const known = (numbers: readonly number[]) => numbers.flatMap((number) => byNumber.get(number) ?? []);
  return {
    id: row.id,
    tenantId: row.tenant_id,
    appId: row.app_id,
    name: row.name,
    schema: schemaOf(row.app_id),
    table: tableOf(row.id),
    version: row.version,
    columns,
    idColumn,
    owner: columns.find((column) => column.role === 'owner') ?? null,
    unique: row.indexes
      .filter((index) => index.is_unique)
      .map((index) => ({ physical: indexOf(index.id), columns: known(index.columns) })),
  };
}
