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
import {
  physicalColumnName,
  physicalLogName,
  physicalSchemaName,
  physicalTableName,
} from '../tables/catalogue.ts';

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
 * Deletes files that no row has and no row can get back, in two steps: first no row can take the file any more; a minute later, when no earlier write is
 * under way, it is deleted if still no row has it. Triggers name the files that rows give up, also those of a cascade.
 */
export async function removeUnusedFiles(deps: UnusedFilesDeps, { now }: { now: Date }): Promise<void> {
  const { db, rowsDb, log } = deps;
  const removed = await listRemovedFiles(db, new Date(now.getTime() - removalMs), filesPerRun);
  const inHistory = await filesInHistory(deps, removed);
  for (const file of removed) {
    try {
      if (inHistory.has(file.id) || (await isInRow(rowsDb, file)))
        await setFileState(db, file, { is_used: true, removing_at: null });
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
  const kept = await filesInHistory(deps, files);
  for (const file of files) {
    const isUsed = kept.has(file.id) || (await isInRow(rowsDb, file));
    await setFileState(db, file, isUsed ? { is_used: true } : { removing_at: now });
  }
  for (const { file_id, at } of released) {
    // One that was released again meanwhile has another time.
    const same = sql`file_id = ${file_id} and released_at::text = ${at}`;
    await (kept.has(file_id)
      ? sql`update svc_data.released_files set released_at = now() + interval '1 day' where ${same}`
      : sql`delete from svc_data.released_files where ${same}`
    ).execute(rowsDb);
  }
}

/** Those that a row has again when it is restored, or had in a state that its history shows. They are looked at each day. */
async function filesInHistory(
  { db, rowsDb }: Pick<UnusedFilesDeps, 'db' | 'rowsDb'>,
  files: readonly RowFile[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  if (files.length === 0) return found;
  const tableIds = [...new Set(files.map(({ table_id }) => table_id))];
  const tables = await sql<{ id: string; app_id: string; days: number }>`
    select id, app_id, greatest(history_days, soft_delete_days) as days from svc.app_tables
    where id = any (${tableIds}) and (history_days is not null or soft_delete_days is not null)`.execute(db);
  for (const { id, app_id, days } of tables.rows) {
    const own = files.filter(({ table_id }) => table_id === id);
    const log = sql.table(`${physicalSchemaName(app_id)}.${physicalLogName(id)}`);
    for (const number of new Set(own.map(({ column_number }) => column_number))) {
      const ids = own.filter(({ column_number }) => column_number === number).map((file) => file.id);
      const value = sql`(old -> ${physicalColumnName(number)} ->> 'id')`;
      const { rows } = await sql<{ id: string }>`select distinct ${value} as id from ${log}
        where ${value} = any (${ids}) and at > now() - make_interval(days => ${days})`.execute(rowsDb);
      for (const row of rows) found.add(row.id);
    }
  }
  return found;
}

async function listReleased(rowsDb: Db): Promise<{ file_id: string; at: string }[]> {
  const { rows } = await sql<{ file_id: string; at: string }>`select file_id, released_at::text as at
    from svc_data.released_files where released_at <= now() order by released_at limit ${filesPerRun}`.execute(
    rowsDb,
  );
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
