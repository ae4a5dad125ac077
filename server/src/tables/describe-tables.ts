import { tablesPerAppMax } from '@svc/contract/columns.ts';
import type { InspectedTable } from '@svc/contract/inspection.shapes.ts';
import type { z } from 'zod';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import { indexRecord, tableRecord } from './rules.ts';
import { listTableRows } from './store.ts';

/** For other slices: how each table of an app is made, by its name. Of rows it knows nothing. */
export async function describeTables(db: Db, place: AppPlace): Promise<z.output<typeof InspectedTable>[]> {
  const { rows } = await listTableRows(db, place, { limit: tablesPerAppMax, offset: 0 });
  return rows.map((row) => {
    const { name, description, owner_column, columns } = tableRecord(row);
    const indexes = row.indexes.map((index) => {
      const record = indexRecord(row, index);
      return { name: record.name, columns: record.columns, unique: record.unique };
    });
    return { name, description, owner_column, columns, indexes };
  });
}
