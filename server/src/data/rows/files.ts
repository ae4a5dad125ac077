import {
  type FileType,
  fileLimits,
  fileNameCharsMax,
  isFileType,
  isTypeAllowed,
  unusedFileMinutes,
} from '@svc/contract/file-type.ts';
import type { FileValue } from '@svc/contract/rows.ts';
import { contentType } from '@svc/contract/storage.shapes.ts';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { type Db, sqlState } from '../../core/db.ts';
import { fail, validationError } from '../../core/problem.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { sendObject } from '../storage/objects-handler.ts';
import {
  deleteFile,
  fileKey,
  findUploadedFiles,
  listFilesById,
  listRemovedFiles,
  listUnusedFiles,
  type RowFile,
  setFileState,
  signFileUpload,
} from '../storage/row-files.ts';
import type { UrlSigning } from '../storage/signed-urls.ts';
import {
  type CatalogueColumn,
  physicalColumnName,
  physicalLogName,
  physicalSchemaName,
  physicalTableName,
} from '../tables/catalogue.ts';
import { requireNotArchived } from '../tables/rules.ts';
import type { ParsedJson } from '../tables/values.ts';
import { isWritable } from './access.ts';
import { jsonResponse, type RowsCtx } from './context.ts';
import { parseReturnedRow, queryIn, queryRow, whereRowId } from './get-row.ts';
import type { RequestBody } from './request-body.ts';
import { createOutput, type RowTable, requireNamedColumn } from './row-table.ts';
import { oneSql } from './sql.ts';
import type { TableAccess } from './table-access.ts';

export interface FilesDeps {
  db: Db;
  objects: ObjectStore;
  signing: UrlSigning;
  now: () => Date;
}

/** `{"column":"photo","name":"cat.png","type":"image/png","size":12345}`: answers the URL for its bytes. */
export async function signFile(ctx: RowsCtx, deps: FilesDeps): Promise<FastPathResponse> {
  const { table, access, app } = ctx;
  const input = parseObject(ctx.body.received().text());
  if (typeof input.column !== 'string')
    throw validationError('column', 'must be the name of a column', 'required');
  const body = readFile(input);
  const column = requireNamedColumn(table, input.column);
  if (!isFileType(column.type)) throw validationError('column', 'is not a column of files');
  if (!isWritable(access, 'insert', column.name) && !isWritable(access, 'update', column.name))
    throw fail('forbidden');
  requireNotArchived(app);
  requireLimits(column.name, column.type, body);
  const { catalogue } = table;
  const by = {
    now: deps.now(),
    tenant: { id: catalogue.tenantId },
    app: { id: catalogue.appId },
    caller: ctx.caller,
  };
  const signed = await signFileUpload(deps.db, by, deps.signing, {
    ...body,
    column: { tableId: catalogue.id, number: columnNumber(column) },
  });
  return jsonResponse(201, JSON.stringify(signed));
}

type AnnouncedFile = Pick<FileValue, 'name' | 'size' | 'type'>;

function requireLimits(column: string, ofType: FileType, { size, type }: AnnouncedFile): void {
  const limits = fileLimits(ofType);
  if (size > limits.bytesMax)
    throw fail('payload_too_large', { detail: `A file of ${column} has at most ${limits.bytesMax} bytes.` });
  if (!isTypeAllowed(limits, type))
    throw fail('unsupported_media_type', {
      detail: `A file of ${column} must be of type ${limits.types.join(', ')}.`,
    });
}

function readFile({ name, type, size }: Record<string, unknown>): AnnouncedFile {
  if (typeof name !== 'string' || name === '' || name.length > fileNameCharsMax || !name.isWellFormed())
    throw validationError('name', `must be 1 to ${fileNameCharsMax} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\u0000-\u001f\u007f/\\]/.test(name))
    throw validationError('name', 'must not have slashes and control characters');
  if (!Number.isSafeInteger(size) || Number(size) < 0)
    throw validationError('size', 'must be the number of bytes', 'required');
  const media = contentType.safeParse(type);
  if (!media.success) throw validationError('type', 'must be a media type, such as image/png');
  return { name, size: Number(size), type: media.data };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {}
  throw fail('malformed_json');
}

const columnNumber = ({ physical }: CatalogueColumn) => Number(physical.slice(1));

export async function sendFile(
  ctx: RowsCtx,
  deps: FilesDeps,
  { id, column: name, extendTimeout }: { id: string; column: string; extendTimeout: () => void },
): Promise<FastPathResponse> {
  const { table, request } = ctx;
  const column = table.byName.get(name);
  if (!column || !isFileType(column.type)) throw fail('not_found');
  const output = createOutput([{ column, key: 'file' }]);
  const row = await queryRow(queryIn(ctx, 'point'), oneSql(table, output, whereRowId(ctx, id)), output, 1);
  const file = parseReturnedRow(row).file as FileValue | null | undefined;
  if (!file?.id) throw fail('not_found');
  ctx.recordRead({ action: 'read', table, output, rows: 1 });
  const { id: tableId, tenantId, appId } = table.catalogue;
  const key = fileKey({ table_id: tableId, column_number: columnNumber(column), id: file.id });
  const response = await sendObject(deps, {
    claims: { tenant: tenantId, app: appId, key },
    request,
    info: { extendTimeout },
    name: file.name,
  });
  return { status: response.status, headers: Object.fromEntries(response.headers), body: response.body };
}

const fileIdPattern = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const filesPerRequestMax = 20_000;

/** Looks up every file that a change may name, so that its rows can be read without waiting. */
export async function withUploadedFiles(
  { db }: FilesDeps,
  access: TableAccess,
  body: RequestBody,
  search: string,
): Promise<TableAccess> {
  const { catalogue } = access.table;
  if (catalogue.foreign || !catalogue.columns.some(({ type }) => isFileType(type))) return access;
  const ids = [...new Set(body.received().text().match(fileIdPattern))].slice(0, filesPerRequestMax);
  const ref = { tenantId: catalogue.tenantId, appId: catalogue.appId, tableId: catalogue.id };
  const found = ids.length === 0 ? [] : await findUploadedFiles(db, ref, ids);
  const files = new Map(found.map((file) => [file.id, file]));
  const isPreview = new URLSearchParams(search).get('dry_run') === 'true';
  return { ...access, table: { ...access.table, files, isPreview } };
}

export function withFile(
  { files, isPreview, catalogue }: RowTable,
  at: number,
  value: ParsedJson,
): ParsedJson {
  if (!value.ok || value.value === null) return value;
  const { id, ...announced } = JSON.parse(value.value) as Partial<FileValue>;
  const column = catalogue.columns[at];
  if (id === undefined && isPreview && column && isFileType(column.type)) {
    const read = readFile(announced);
    requireLimits(column.name, column.type, read);
    return { ok: true, value: JSON.stringify(read) };
  }
  const file: RowFile | undefined = files?.get(id ?? '');
  if (!file || !column || file.column_number !== columnNumber(column))
    return { ok: false, detail: 'is not a file that was uploaded for this column' };
  const { name, size, content_type: type } = file;
  return { ok: true, value: JSON.stringify({ id: file.id, name, size, type } satisfies FileValue) };
}

/** The row of a plan: an id that a column gets is known only after the upload. */
export function withoutNewFileIds(
  { catalogue }: RowTable,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): Record<string, unknown> {
  const shown = { ...after };
  for (const { name, type } of catalogue.columns) {
    const [was, is] = [before[name], after[name]] as (FileValue | null | undefined)[];
    if (!isFileType(type) || !is || was?.id === is.id) continue;
    const { id: _, ...rest } = is;
    shown[name] = rest;
  }
  return shown;
}

/** Longer than any write takes that looked up the file before. */
const removalMs = 60_000;
const filesPerRun = 500;

interface UnusedFilesDeps {
  db: Db;
  rowsDb: Db;
  objects: ObjectStore;
  log: Logger;
}

/** In two steps: no row can take the file any more; a minute later, when no earlier write is under way, it is deleted if unused. */
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
  const restorable = await filesInHistory(deps, files);
  for (const file of files) {
    const isUsed = restorable.has(file.id) || (await isInRow(rowsDb, file));
    await setFileState(db, file, isUsed ? { is_used: true } : { removing_at: now });
  }
  for (const { file_id, at } of released) {
    // One that was released again meanwhile has another time.
    const same = sql`file_id = ${file_id} and released_at::text = ${at}`;
    await (restorable.has(file_id)
      ? sql`update svc_data.released_files set released_at = now() + interval '1 day' where ${same}`
      : sql`delete from svc_data.released_files where ${same}`
    ).execute(rowsDb);
  }
}

/** Files that a restored row has again, or that its history shows. They are checked every day. */
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
