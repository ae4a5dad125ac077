import {
  sourceBytesMax,
  sourcesPrefix,
  sourceUploadSeconds,
  sourceUploadsPerHourMax,
} from '@svc/contract/deployments.ts';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { lockAppFor } from '../../apps/record/app-access.ts';
import type { AppMutationCtx, AppRef, MutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { LiveKey } from '../../core/keys.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { fail } from '../../core/problem.ts';
import { urlExpiry } from '../../data/storage/signed-urls.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { signUrlToken, type UrlClaims } from '../../http/signed-url.ts';

export interface SourceClaims extends UrlClaims {
  purpose: 'source.put';
  upload: string;
  /** An id: a slug could be reused by another app. */
  app: string;
  tenant: string;
  issuer: string;
}

export interface SourceDeps {
  baseUrl: string;
  urlKey: LiveKey<string>;
}

const hourMs = 3_600_000;

export async function grantSourceUpload(ctx: AppMutationCtx, { baseUrl, urlKey }: SourceDeps) {
  const app = await lockAppFor(ctx, { required: 'owners' });
  if (app.record !== 'active')
    throw fail('app_not_active', { detail: 'The app is archived; reactivate it first.' });
  if (app.runtime === 'suspended') throw fail('app_suspended');
  const appRef = { tenantId: ctx.tenant.id, appId: app.id };
  const sinceAnHour = new Date(ctx.now.getTime() - hourMs + sourceUploadSeconds * 1_000);
  if ((await countUploadRows(ctx.db, appRef, sinceAnHour)) >= sourceUploadsPerHourMax)
    throw fail('limit_reached', {
      detail: `At most ${sourceUploadsPerHourMax} source uploads per app and hour.`,
    });
  const { expires, expires_at } = urlExpiry(ctx.now, sourceUploadSeconds);
  const id = ctx.newId();
  await insertUploadRow(ctx.db, {
    id,
    tenant_id: appRef.tenantId,
    app_id: app.id,
    created_by: ctx.caller.userId,
    expires_at: new Date(expires * 1_000),
  });
  ctx.audit({
    action: 'deployments.grantUpload',
    appId: app.id,
    target: { kind: 'source', id, name: app.slug },
    before: null,
    after: { expires_in_seconds: sourceUploadSeconds, bytes_max: sourceBytesMax },
  });
  const token = signUrlToken<SourceClaims>(urlKey, {
    purpose: 'source.put',
    expires,
    upload: id,
    app: app.id,
    tenant: appRef.tenantId,
    issuer: ctx.caller.userId,
  });
  return {
    upload_id: id,
    put_url: `${baseUrl}${sourcesPrefix}${token}`,
    expires_at,
    bytes_max: sourceBytesMax,
  };
}

/** Deletes the bytes; the rows are deleted with the app. */
export function purgeSources(ctx: Pick<MutationCtx, 'enqueue'>, { tenantId, appId }: AppRef): void {
  ctx.enqueue('sources.discardApp', { tenantId, appId });
}

export function deleteAppSources({ objects }: { objects: ObjectStore }): EffectHandler {
  return async (payload) => {
    for await (const { key } of objects.list(sourcePrefix(payload as unknown as AppRef)))
      await objects.delete(key);
  };
}

/** A deployment fetches its source within minutes, unless it stays queued. */
const retentionMs = 24 * 3_600_000;
const batchSize = 500;

/** Deletes the bytes before the row, which is needed to find them. */
export async function deleteExpiredSources(
  { db, objects, log }: { db: Db; objects: ObjectStore; log: Logger },
  { now }: { now: Date },
): Promise<void> {
  const before = new Date(now.getTime() - retentionMs);
  for (const { id, app_id: appId, tenant_id: tenantId } of await listUploadRowsBefore(
    db,
    before,
    batchSize,
  )) {
    const appRef = { tenantId, appId };
    try {
      await objects.delete(sourceKey(appRef, id));
      await deleteUploadRow(db, appRef, id);
    } catch (error) {
      log.warn({ err: error, upload: id }, 'delete of an expired source failed');
    }
  }
}

const sourcePrefix = ({ tenantId, appId }: AppRef) => `sources/${tenantId}/${appId}/`;
export const sourceKey = (appRef: AppRef, uploadId: string) => `${sourcePrefix(appRef)}${uploadId}`;

export interface UploadRow {
  id: string;
  tenant_id: string;
  app_id: string;
  created_by: string;
  bytes: number | null;
  sha256: string | null;
  arrived_at: Date | null;
  expires_at: Date;
}
type Tables = { deployment_uploads: UploadRow };

async function insertUploadRow(tx: Tx, row: Omit<UploadRow, 'bytes' | 'sha256' | 'arrived_at'>) {
  await tx
    .withTables<Tables>()
    .insertInto('deployment_uploads')
    .values(row as UploadRow)
    .execute();
}

export function findUploadRow(db: Db, { tenantId, appId }: AppRef, id: string) {
  return db
    .withTables<Tables>()
    .selectFrom('deployment_uploads')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId, id }))
    .executeTakeFirst();
}

async function countUploadRows(tx: Tx, { tenantId, appId }: AppRef, since: Date): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from svc.deployment_uploads
    where tenant_id = ${tenantId} and app_id = ${appId} and expires_at > ${since}`.execute(tx);
  return rows[0]?.count ?? 0;
}

export async function markArrived(
  db: Db,
  { tenantId, appId }: AppRef,
  { id, ...set }: { id: string; bytes: number; sha256: string; arrived_at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .withTables<Tables>()
    .updateTable('deployment_uploads')
    .set(set)
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId, id }))
    .where('arrived_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

async function listUploadRowsBefore(db: Db, before: Date, limit: number): Promise<UploadRow[]> {
  const { rows } = await sql<UploadRow>`
    select * from svc.deployment_uploads where expires_at < ${before} order by expires_at limit ${limit}`.execute(
    db,
  );
  return rows;
}

async function deleteUploadRow(db: Db, { tenantId, appId }: AppRef, id: string): Promise<void> {
  await sql`delete from svc.deployment_uploads
    where tenant_id = ${tenantId} and app_id = ${appId} and id = ${id}`.execute(db);
}
