import type { AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import {
  type CatalogueColumn,
  physicalColumnName,
  physicalForeignKeyName,
  physicalIndexName,
  physicalSchemaName,
  physicalTableName,
  physicalVectorName,
  type TableCatalogue,
} from './catalogue.ts';
import {
  findTableRow,
  listAllTableRows,
  listAppGrantEntries,
  type TableGrantEntry,
  type TableRow,
} from './store.ts';
import { columnDefault } from './values.ts';

export async function loadCatalogue(db: Db, app: AppRef, name: string): Promise<TableCatalogue | null> {
  const row = await findTableRow(db, app, name);
  return row ? tableCatalogue(row) : null;
}

function tableCatalogue(row: TableRow): TableCatalogue {
  const byNumber = new Map<number, CatalogueColumn>(
    row.columns.map((column) => [
      column.number,
      {
        name: column.name,
        physical: physicalColumnName(column.number),
        type: column.type,
        nullable: column.nullable,
        default: columnDefault(column),
        ...(column.checks && { checks: column.checks }),
        ...(column.ref_table &&
          column.target && {
            ref: {
              tableId: column.ref_table,
              table: column.target.name,
              onDelete: column.on_delete ?? 'restrict',
            },
          }),
        role: column.number === row.owner_column ? 'owner' : column.role,
      },
    ]),
  );
  const columns = [...byNumber.values()];
  const idColumn = columns.find((column) => column.role === 'id');
  if (!idColumn) throw new Error(`Table ${row.id} has no id column.`);
  const columnsByNumber = (numbers: readonly number[]) =>
    numbers.flatMap((number) => byNumber.get(number) ?? []);
  const searched = row.indexes.find((index) => index.search);
  return {
    id: row.id,
    tenantId: row.tenant_id,
    appId: row.app_id,
    name: row.name,
    schema: physicalSchemaName(row.app_id),
    table: physicalTableName(row.id),
    version: row.version,
    columns,
    idColumn,
    rules: row.rules,
    referencedBy: (row.referenced_by ?? []).map(({ table_id, table, column, number, on_delete }) => ({
      tableId: table_id,
      table,
      column,
      onDelete: on_delete,
      physical: physicalForeignKeyName(number),
    })),
    changes: row.changes,
    historyDays: row.history_days,
    softDeleteDays: row.soft_delete_days,
    owner: columns.find((column) => column.role === 'owner') ?? null,
    unique: row.indexes
      .filter((index) => index.is_unique)
      .map((index) => ({ physical: physicalIndexName(index.id), columns: columnsByNumber(index.columns) })),
    ...(searched?.search && {
      search: {
        language: searched.search.language,
        columns: searched.columns.flatMap((number) => {
          const column = byNumber.get(number);
          return column ? [{ column, vector: physicalVectorName(number) }] : [];
        }),
      },
    }),
  };
}

interface AppTable {
  catalogue: TableCatalogue;
  description: string;
  grants: readonly TableGrantEntry[];
}

export async function loadAppTables(db: Db, app: AppRef): Promise<AppTable[]> {
  const rows = await listAllTableRows(db, app);
  const grants = Map.groupBy(await listAppGrantEntries(db, app), ({ table_id }) => table_id);
  return rows.map((row) => ({
    catalogue: tableCatalogue(row),
    description: row.description,
    grants: grants.get(row.id) ?? [],
  }));
}
