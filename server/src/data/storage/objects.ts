import type { listObjects as shape, signUpload as signUploadShape } from '@svc/contract/storage.shapes.ts';
import { rowFilesPrefix } from '@svc/contract/storage.ts';
import type { z } from 'zod';
import { recheckApp } from '../../apps/record/app-access.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  type AuditedChange,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { signObjectUrl, type UrlSigning } from './signed-urls.ts';
import {
  bytesLeft,
  enqueueBlobDeletion,
  lockStorageForChange,
  objectAudit,
  objectRecord,
  requireNotArchived,
  requireSpace,
  requireStorage,
} from './storage.ts';
import {
  addToStorageUsage,
  deleteObjectRow,
  findObjectRow,
  listObjectRows,
  type ObjectRow,
  type StorageRow,
  upsertObjectRow,
} from './store.ts';

export async function listObjects(ctx: AppCtx, query: z.output<typeof shape.query>) {
  const app = appRef(ctx);
  await requireStorage(ctx.db, app);
  const { prefix, delimiter = '', limit } = query;
  const listing = { prefix, delimiter };
  const after = query.cursor === undefined ? '' : parseListCursor(query.cursor, listing);
  const rows = await listObjectRows(ctx.db, app, { ...listing, after, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const end = page.at(-1);
  return {
    items: page.filter((row) => row.prefix === null).map(objectRecord),
    prefixes: page.flatMap((row) => (row.prefix === null ? [] : [row.prefix])),
    next_cursor: end && rows.length > limit ? formatListCursor(listing, end.after) : null,
  };
}

/** Cursors are not signed: a caller who may list sees every key of a listing anyway. */
interface Listing {
  prefix: string;
  delimiter: string;
}

function formatListCursor({ prefix, delimiter }: Listing, after: string): string {
  return Buffer.from(JSON.stringify([prefix, delimiter, after])).toString('base64url');
}

function parseListCursor(cursor: string, { prefix, delimiter }: Listing): string {
  const [cursorPrefix, cursorDelimiter, after] = decodeCursor(cursor);
  const isSameListing = cursorPrefix === prefix && cursorDelimiter === delimiter;
  // PostgreSQL accepts neither NUL nor a lone surrogate.
  if (!isSameListing || typeof after !== 'string' || after.includes('\u0000') || !after.isWellFormed())
    throw fail('invalid_cursor');
  return after;
}

function decodeCursor(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/** Not a file of a row, whose readers the rules of its table decide. */
const findNamedObject = async (db: Db, app: AppRef, key: string) =>
  key.startsWith(rowFilesPrefix) ? undefined : findObjectRow(db, app, key);

export async function getObjectUrl(
  ctx: AppCtx,
  { key, expires_in }: { key: string; expires_in: number },
  signing: UrlSigning,
) {
  const app = appRef(ctx);
  await requireStorage(ctx.db, app);
  const row = orNotFound(await findNamedObject(ctx.db, app, key));
  const { url, expires_at } = signObjectUrl(ctx, signing, { purpose: 'object.get', key, expires_in });
  return { ...objectRecord(row), url, expires_at };
}

export async function signUpload(
  ctx: AppMutationCtx,
  { key, content_type, size, expires_in }: z.output<typeof signUploadShape.body>,
  signing: UrlSigning,
) {
  const app = appRef(ctx);
  requireNotArchived(await recheckApp(ctx, { required: 'owners' }));
  const storage = await requireStorage(ctx.db, app);
  const replaced = await findObjectRow(ctx.db, app, key);
  requireSpace(size ?? 0, bytesLeft(storage, replaced));
  if (replaced) ctx.warn(`The upload replaces an existing object of ${replaced.size} bytes.`);
  const upload = { content_type, size: size ?? null, expires_in_seconds: expires_in };
  auditObject(ctx, app, 'storage.signUpload', key, null, upload);
  const claims = { purpose: 'object.put', key, expires_in, content_type, size } as const;
  const { url, expires_at } = signObjectUrl(ctx, signing, claims);
  return { key, put_url: url, expires_at, headers: { 'content-type': content_type } };
}

export async function copyObject(ctx: AppMutationCtx, { from, to }: { from: string; to: string }) {
  const app = appRef(ctx);
  const storage = await lockStorageForChange(ctx);
  const source = await findNamedObject(ctx.db, app, from);
  if (!source) throw fail('not_found', { detail: `Object ${from} does not exist.` });
  const { row, isChanged } = await putObject(ctx, storage, { ...source, key: to }, 'storage.copy');
  return { ...objectRecord(row), changed: isChanged ? undefined : (false as const) };
}

export async function deleteObject(ctx: AppMutationCtx, { key }: { key: string }): Promise<undefined> {
  const app = appRef(ctx);
  await lockStorageForChange(ctx);
  const row = orNotFound(await findNamedObject(ctx.db, app, key));
  await deleteObjectRow(ctx.db, app, key);
  await addToStorageUsage(ctx.db, app, { objects: -1, bytes: -row.size });
  enqueueBlobDeletion(ctx, app, row.blob_id);
  auditObject(ctx, app, 'storage.delete', key, objectAudit(row), null);
}

function auditObject(
  ctx: MutationCtx,
  { appId }: AppRef,
  action: string,
  key: string,
  before: AuditedChange['before'],
  after: AuditedChange['after'],
): void {
  ctx.audit({ action, appId, target: { kind: 'object', id: key, name: key }, before, after });
}

type StoredBlob = Pick<ObjectRow, 'key' | 'blob_id' | 'size' | 'content_type' | 'sha256'>;

/** Makes a stored blob the object of a key. Caller must hold the lock of the storage row. */
export async function putObject(
  ctx: MutationCtx,
  storage: StorageRow,
  { key, blob_id, size, content_type, sha256 }: StoredBlob,
  action: string,
): Promise<{ row: ObjectRow; isChanged: boolean }> {
  const app = { tenantId: storage.tenant_id, appId: storage.app_id };
  const replaced = await findObjectRow(ctx.db, app, key);
  const isChanged = replaced?.blob_id !== blob_id || replaced.content_type !== content_type;
  const after = objectAudit({ size, content_type, sha256 });
  auditObject(ctx, app, action, key, replaced ? objectAudit(replaced) : null, after);
  if (replaced && !isChanged) return { row: replaced, isChanged };
  requireSpace(size, bytesLeft(storage, replaced));
  const row = await upsertObjectRow(ctx.db, {
    app_id: app.appId,
    key,
    tenant_id: app.tenantId,
    blob_id,
    size,
    content_type,
    sha256,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_at: ctx.now,
  });
  await addToStorageUsage(ctx.db, app, { objects: replaced ? 0 : 1, bytes: size - (replaced?.size ?? 0) });
  if (replaced && replaced.blob_id !== blob_id) enqueueBlobDeletion(ctx, app, replaced.blob_id);
  return { row, isChanged };
}
