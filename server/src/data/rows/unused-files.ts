import { unusedFileMinutes } from '@svc/contract/file-type.ts';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { type Db, sqlState } from '../../core/db.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import {
  deleteFile,
  listFilesById,
  listRemovedFiles,
  listUnusedFiles,
  type RowFile,
  setFileState,
} from '../storage/row-files.ts';
import { physicalColumnName, physicalSchemaName, physicalTableName } from '../tables/catalogue.ts';

/** Longer than any write takes that looked up the file before. */
const removalMs = 60_000;
const filesPerRun = 500;

interface UnusedFilesDeps {
  db: Db;
  rowsDb: Db;
  objects: ObjectStore;
  log: Logger;
}

/**
 * Deletes files that no row has, in two steps: first no row can take the file any more; a minute later, when no earlier write is
 * under way, it is deleted if still no row has it. Triggers name the files that rows give up, also those of a cascade.
 */
export async function removeUnusedFiles(deps: UnusedFilesDeps, { now }: { now: Date }): Promise<void> {
  const { db, rowsDb, log } = deps;
  for (const file of await listRemovedFiles(db, new Date(now.getTime() - removalMs), filesPerRun)) {
    try {
      if (await isInRow(rowsDb, file)) await setFileState(db, file, { is_used: true, removing_at: null });
      else await deleteFile(deps, file);
    } catch (error) {
      log.warn({ err: error, file: file.id }, 'file cleanup failed');
    }
  }
  const released = await listReleased(rowsDb);
  const releasedIds = released.map(({ file_id }) => file_id);
  const before = new Date(now.getTime() - unusedFileMinutes * 60_000);
  const files = [
    ...(await listFilesById(db, releasedIds)),
    ...(await listUnusedFiles(db, before, filesPerRun)),
  ];
  for (const file of files) {
    const isUsed = await isInRow(rowsDb, file);
    await setFileState(db, file, isUsed ? { is_used: true } : { removing_at: now });
  }
  // One that was released again meanwhile has another time.
  for (const { file_id, at } of released)
    await sql`delete from svc_data.released_files where file_id = ${file_id} and released_at::text = ${at}`.execute(
      rowsDb,
    );
}

async function listReleased(rowsDb: Db): Promise<{ file_id: string; at: string }[]> {
  const { rows } = await sql<{ file_id: string; at: string }>`select file_id, released_at::text as at
    from svc_data.released_files order by released_at limit ${filesPerRun}`.execute(rowsDb);
  return rows;
}

async function isInRow(rowsDb: Db, { app_id, table_id, column_number, id }: RowFile): Promise<boolean> {
  const table = sql.table(`${physicalSchemaName(app_id)}.${physicalTableName(table_id)}`);
  const column = sql.ref(physicalColumnName(column_number));
  try {
    const { rows } = await sql`select from ${table} where ${column} ->> 'id' = ${id} limit 1`.execute(rowsDb);
    return rows.length > 0;
  } catch (error) {
    // The table or its column was dropped.
    if (['42P01', '42703', '3F000'].includes(sqlState(error) ?? '')) return false;
    throw error;
  }
}
