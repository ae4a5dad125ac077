import { tablesPerAppMax } from '@svc/contract/columns.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import type { TableCatalogue } from './catalogue.ts';
import { catalogueOf } from './load-catalogue.ts';
import { listTableRows } from './store.ts';
import { type TableGrantEntry, tableGrantsOfApp } from './table-grants-of.ts';

export interface AppTable {
  catalogue: TableCatalogue;
  description: string;
  grants: readonly TableGrantEntry[];
}

/** Every table of an app by its name, with who was let into it. */
export async function loadAppTables(db: Db, place: AppPlace): Promise<AppTable[]> {
  const { rows } = await listTableRows(db, place, { limit: tablesPerAppMax, offset: 0 });
  const grants = await tableGrantsOfApp(db, place);
  return rows.map((row) => ({
    catalogue: catalogueOf(row),
    description: row.description,
    grants: grants.get(row.id) ?? [],
  }));
}
