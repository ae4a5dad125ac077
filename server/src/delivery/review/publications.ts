import type { PublicationRequest, listPublications as shape } from '@svc/contract/review.shapes.ts';
import type {
  publicationPins,
  publicationStatuses,
  publishedVisibilities,
  reviewKinds,
} from '@svc/contract/review.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import { loadAppNames } from '../../apps/app-names.ts';
import { findAppOfTenant } from '../../apps/record/find-app.ts';
import type { AppAccess, AppCtx, AppRef, Ctx, MutationCtx, TenantCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { findUsers } from '../../people/users/users.ts';
import { canSeeRequest, currentStatus } from './rules.ts';

type Query = z.output<typeof shape.query>;

export async function listPublications(ctx: TenantCtx, { app, ...query }: Query) {
  if (app === undefined) return listPage(ctx, query);
  const found = await findAppOfTenant(ctx.db, ctx.tenant.id, { ref: app, userId: ctx.caller.userId });
  if (!found) throw fail('not_found', { detail: 'The app does not exist.' });
  return listPage(ctx, query, found.id);
}

export function listAppPublications(ctx: AppCtx, query: Omit<Query, 'app'>) {
  return listPage(ctx, query, ctx.app.id);
}

async function listPage(ctx: TenantCtx, query: Omit<Query, 'app'>, appId?: string) {
  const { status, visibility } = query;
  const filter = { kinds: publicationKinds, appId, status, visibility, now: ctx.now };
  const { rows, total } = await listReviewRows(ctx.db, ctx.tenant.id, filter, pageWindow(query));
  return toPage(query, await publicationRecords(ctx, ctx.tenant.id, rows as PublicationRow[]), total);
}

export async function getPublication(ctx: TenantCtx, { id }: { id: string }): Promise<PublicationRecord> {
  const { db, tenant, caller } = ctx;
  const row = orNotFound(await findPublicationRow(db, tenant.id, id));
  const app = await findAppOfTenant(db, tenant.id, { ref: row.app_id, userId: caller.userId });
  if (!canSeeRequest({ relation: app?.relation ?? 'none', role: tenant.role })) throw fail('not_found');
  return publicationRecord(ctx, row);
}

export async function countPublications(
  { db, now }: Pick<MutationCtx, 'db' | 'now'>,
  { tenantId, appId }: AppRef,
): Promise<number> {
  const window = { limit: 1, offset: 0 };
  return (await listReviewRows(db, tenantId, { kinds: publicationKinds, appId, now }, window)).total;
}

const publicationKinds = ['publication', 'deployment'] as const;

type PublicationRecord = z.output<typeof PublicationRequest>;

function publicationRecords(ctx: Pick<Ctx, 'db' | 'now'>, tenantId: string, rows: readonly PublicationRow[]) {
  return requestRecords(ctx, tenantId, rows);
}

export async function requestRecords<R extends PublicationRow | ReviewRow>(
  ctx: Pick<Ctx, 'db' | 'now'>,
  tenantId: string,
  rows: readonly R[],
) {
  const apps = await loadAppNames(ctx.db, tenantId, [...new Set(rows.map(({ app_id }) => app_id))]);
  const ids = rows.flatMap(({ requested_by, decided_by }) => [requested_by, decided_by ?? requested_by]);
  const users = await findUsers(ctx, { ids: [...new Set(ids)] });
  const email = (id: string | null) => (id === null ? '' : (users.get(id)?.email ?? ''));
  return rows.map((row) => ({
    id: row.id,
    app_id: row.app_id,
    app_slug: apps.get(row.app_id)?.slug ?? '',
    app_name: apps.get(row.app_id)?.name ?? '',
    status: currentStatus(row, ctx.now),
    visibility: row.visibility as R['visibility'],
    visibility_before: row.visibility_before,
    pinned: row.pinned,
    deployment_id: row.deployment_id,
    release_id: row.release_id,
    data_scopes: row.data_scopes,
    data_scopes_before: row.data_scopes_before,
    digest: row.digest,
    note: row.note,
    requested_by: row.requested_by,
    requested_by_email: email(row.requested_by),
    requested_at: row.requested_at.toISOString(),
    expires_at: (row.expires_at?.toISOString() ?? null) as R['expires_at'] extends Date
      ? string
      : string | null,
    decided_by: row.decided_by,
    decided_by_email: email(row.decided_by),
    decided_at: row.decided_at?.toISOString() ?? null,
    reason: row.reason,
  }));
}

export async function publicationRecord(ctx: Pick<Ctx, 'db' | 'now'>, row: PublicationRow) {
  const [record] = await publicationRecords(ctx, row.tenant_id, [row]);
  if (!record) throw new Error('The publication request has no record.');
  return record;
}

type PublicationStatus = (typeof publicationStatuses)[number];

export interface PublicationRow {
  id: string;
  tenant_id: string;
  app_id: string;
  status: PublicationStatus;
  visibility: (typeof publishedVisibilities)[number];
  visibility_before: AppAccess['visibility'];
  pinned: (typeof publicationPins)[number];
  deployment_id: string | null;
  release_id: string | null;
  digest: string;
  data_scopes: string[];
  data_scopes_before: string[];
  note: string;
  requested_by: string;
  requested_at: Date;
  expires_at: Date;
  decided_by: string | null;
  decided_at: Date | null;
  reason: string;
}
type Tables = { publication_requests: PublicationRow };

export async function insertPublicationRow(tx: Tx, row: PublicationRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('publication_requests').values(row).execute();
}

export function findPublicationRow(db: Db, tenantId: string, id: string) {
  return selectRequests(db, tenantId).selectAll().where('id', '=', id).executeTakeFirst();
}

export function findOpenPublicationRow(db: Db, { tenantId, appId }: AppRef) {
  return selectRequests(db, tenantId)
    .selectAll()
    .where((row) => row.and({ app_id: appId, status: 'pending' }))
    .executeTakeFirst();
}

/** Caller must hold the app's row lock. */
export function closePublicationRow(
  tx: Tx,
  { id, tenant_id }: PublicationRow,
  set: Pick<PublicationRow, 'status' | 'decided_by' | 'decided_at' | 'reason'>,
): Promise<PublicationRow> {
  return tx
    .withTables<Tables>()
    .updateTable('publication_requests')
    .set(set)
    .where((row) => row.and({ tenant_id, id, status: 'pending' }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

export interface ReviewRow extends Omit<PublicationRow, 'visibility' | 'expires_at'> {
  kind: (typeof reviewKinds)[number];
  visibility: AppAccess['visibility'];
  expires_at: Date | null;
}
export function findReviewRow(db: Db, tenantId: string, id: string): Promise<ReviewRow | undefined> {
  return selectReviews(db, tenantId).selectAll().where('id', '=', id).executeTakeFirst();
}

interface ReviewFilter {
  kinds?: readonly ReviewRow['kind'][] | undefined;
  appId?: string | undefined;
  status?: PublicationStatus | 'settled' | undefined;
  visibility?: PublicationRow['visibility'] | undefined;
  now: Date;
}

export async function listReviewRows(
  db: Db,
  tenantId: string,
  { kinds, appId, status, visibility, now }: ReviewFilter,
  window: PageWindow,
): Promise<{ rows: ReviewRow[]; total: number }> {
  const isWaiting = sql<boolean>`(status = 'pending' and (expires_at is null or expires_at > ${now}))`;
  let matching = selectReviews(db, tenantId);
  if (kinds !== undefined) matching = matching.where('kind', 'in', kinds);
  if (appId !== undefined) matching = matching.where('app_id', '=', appId);
  if (visibility !== undefined) matching = matching.where('visibility', '=', visibility);
  if (status === 'pending') matching = matching.where(isWaiting);
  else if (status === 'settled') matching = matching.where(sql<boolean>`not ${isWaiting}`);
  else if (status === 'expired')
    matching = matching.where(
      sql<boolean>`(status = 'expired' or (status = 'pending' and not ${isWaiting}))`,
    );
  else if (status !== undefined) matching = matching.where('status', '=', status);
  return fetchPage(matching.selectAll().orderBy('requested_at', 'desc').orderBy('id', 'desc'), window);
}

export async function listOverduePublications(db: Db): Promise<Pick<PublicationRow, 'id' | 'tenant_id'>[]> {
  const { rows } = await sql<Pick<PublicationRow, 'id' | 'tenant_id'>>`
    select id, tenant_id from svc.publication_requests
    where status = 'pending' and expires_at <= now() order by expires_at limit 500`.execute(db);
  return rows;
}

function selectRequests(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('publication_requests').where('tenant_id', '=', tenantId);
}

function selectReviews(db: Db, tenantId: string) {
  return db.withTables<{ reviews: ReviewRow }>().selectFrom('reviews').where('tenant_id', '=', tenantId);
}
