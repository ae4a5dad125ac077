import { objectSumHeader, storageObjectBytesMax } from '@svc/contract/storage.ts';
import type { Logger } from 'pino';
import type { AppMutationCtx, AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { runMutation } from '../../core/mutation.ts';
import { fail, validationError } from '../../core/problem.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { bodyChunks } from '../../http/read-body.ts';
import { putObject } from './objects.ts';
import { finishFileUpload } from './row-files.ts';
import type { Issuer, ObjectsDeps, PutClaims } from './signed-urls.ts';
import {
  blobKey,
  bytesLeft,
  lockStorageForChange,
  lockStorageForFile,
  requireNotArchived,
  requireSpace,
  requireStorage,
  storageFullError,
} from './storage.ts';
import {
  deleteUploadRow,
  findObjectRow,
  insertUploadRow,
  listUploadRowsBefore,
  lockUploadRow,
  type ObjectRow,
} from './store.ts';

interface Upload {
  claims: PutClaims;
  issuer: Issuer;
  request: Request;
  info: RequestInfo;
}

/** Well below `staleAfterMs`. */
const uploadMsMax = 12 * 3_600_000;

/** A failed upload leaves its `storage_uploads` row, by which the cleanup job finds the blob. */
export async function receiveObject(deps: ObjectsDeps, upload: Upload): Promise<Response> {
  const { claims, request, info } = upload;
  const app = { tenantId: claims.tenant, appId: claims.app };
  const { bytesMax, expectedSize, sha256 } = await checkUpload(deps, upload);
  const blobId = Bun.randomUUIDv7();
  const started = { app_id: app.appId, tenant_id: app.tenantId, started_at: deps.now() };
  await insertUploadRow(deps.db, { ...started, blob_id: blobId });
  try {
    const chunks = bodyChunks(request, { extendTimeout: () => info.extendTimeout?.(), msMax: uploadMsMax });
    const stored = await deps.objects.put(blobKey(app, blobId), chunks, { bytesMax });
    if (expectedSize !== null && stored.size !== expectedSize)
      throw validationError('body', `is ${stored.size} bytes instead of ${expectedSize}`, 'size_mismatch');
    if (sha256 !== null && stored.sha256 !== sha256)
      throw validationError(objectSumHeader, 'does not match the SHA-256 of the body', 'sum_mismatch');
    const { row, isNew } = await finishUpload(deps, upload, blobId, stored);
    if (claims.purpose === 'file.put')
      return Response.json(
        { id: claims.file, size: row.size, type: row.content_type },
        { status: 201, headers: { 'cache-control': 'no-store' } },
      );
    return Response.json(
      { key: row.key, size: row.size, sha256: row.sha256, content_type: row.content_type },
      { status: isNew ? 201 : 200, headers: { etag: `"${row.sha256}"`, 'cache-control': 'no-store' } },
    );
  } catch (error) {
    await discardUpload(deps, app, blobId).catch((cause: unknown) =>
      info.log.warn({ err: cause, blob: blobId }, 'upload cleanup failed'),
    );
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'payload_too_large';
    throw isTooLarge && bytesMax < storageObjectBytesMax && claims.size === undefined
      ? storageFullError()
      : error;
  }
}

async function checkUpload(deps: ObjectsDeps, { claims, issuer, request }: Upload) {
  requireNotArchived(issuer.app);
  const { headers } = request;
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw fail('unsupported_media_type', { detail: 'Send the body without a Content-Encoding.' });
  if (headers.get('content-type') !== claims.content_type)
    throw fail('unsupported_media_type', {
      detail: `The URL was signed for Content-Type: ${claims.content_type}.`,
    });
  if (headers.has('content-range'))
    throw validationError('content-range', 'is not supported: send the whole object');
  const app = { tenantId: claims.tenant, appId: claims.app };
  const storage = await requireStorage(deps.db, app);
  const left = bytesLeft(storage, await findObjectRow(deps.db, app, claims.key));
  const length = headers.get('content-length');
  const sent = length === null ? null : Number(length);
  if (sent !== null && claims.size !== undefined && sent !== claims.size)
    throw validationError(
      'content-length',
      `must be ${claims.size}, the size that the URL was signed for`,
      'size_mismatch',
    );
  const expectedSize = claims.size ?? sent;
  if ((expectedSize ?? 0) > storageObjectBytesMax)
    throw fail('payload_too_large', {
      detail: `The maximum size of an object is ${storageObjectBytesMax} bytes.`,
    });
  requireSpace(expectedSize ?? 0, left);
  const sha256 = headers.get(objectSumHeader)?.toLowerCase() ?? null;
  if (sha256 !== null && !/^[0-9a-f]{64}$/.test(sha256))
    throw validationError(objectSumHeader, 'must be 64 hexadecimal digits');
  return { bytesMax: expectedSize ?? Math.min(storageObjectBytesMax, left), expectedSize, sha256 };
}

async function finishUpload(
  deps: ObjectsDeps,
  { claims, issuer, info }: Upload,
  blobId: string,
  stored: { size: number; sha256: string },
): Promise<{ row: ObjectRow; isNew: boolean }> {
  const app = { tenantId: claims.tenant, appId: claims.app };
  let done: { row: ObjectRow; isNew: boolean } | undefined;
  await runMutation(
    { ...deps, requestId: info.requestId, log: info.log, caller: issuer.caller },
    {
      mode: 'execute',
      operation: { id: 'storage.put', irreversible: false },
      auditTenantId: app.tenantId,
      useCase: async (base) => {
        const ctx: AppMutationCtx = { ...base, tenant: issuer.tenant, app: issuer.app };
        const isFile = claims.purpose === 'file.put';
        const storage = isFile ? await lockStorageForFile(ctx) : await lockStorageForChange(ctx);
        if (!(await deleteUploadRow(ctx.db, app, blobId))) throw fail('request_timeout');
        const isNew = (await findObjectRow(ctx.db, app, claims.key)) === undefined;
        const { key, content_type } = claims;
        const blob = { ...stored, key, blob_id: blobId, content_type };
        const { row } = await putObject(ctx, storage, blob, 'storage.put');
        if (isFile) await finishFileUpload(ctx, app, claims.file);
        done = { row, isNew };
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  if (!done) throw new Error('The upload ended without an object.');
  return done;
}

/** Locking the row waits for a transaction that is about to finish the upload; a finished upload has no row. */
async function discardUpload({ db, objects }: { db: Db; objects: ObjectStore }, app: AppRef, blobId: string) {
  const isOpen = await db.transaction().execute((tx) => lockUploadRow(tx, app, blobId));
  if (!isOpen) return;
  await objects.delete(blobKey(app, blobId));
  // Last, so that the cleanup job still finds a blob that could not be deleted.
  await deleteUploadRow(db, app, blobId);
}

const staleAfterMs = 24 * 3_600_000;
const staleUploadsPerRun = 500;

export async function deleteStaleUploads(
  deps: { db: Db; objects: ObjectStore; log: Logger },
  { now }: { now: Date },
): Promise<void> {
  const before = new Date(now.getTime() - staleAfterMs);
  const rows = await listUploadRowsBefore(deps.db, before, staleUploadsPerRun);
  for (const { blob_id, app_id, tenant_id } of rows) {
    await discardUpload(deps, { tenantId: tenant_id, appId: app_id }, blob_id).catch((error: unknown) =>
      deps.log.warn({ err: error, blob: blob_id }, 'upload cleanup failed'),
    );
  }
}
