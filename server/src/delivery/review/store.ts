import type {
  publicationPins,
  publicationStatuses,
  publishedVisibilities,
  reviewKinds,
} from '@svc/contract/review.ts';
import { sql } from 'kysely';
import type { AppAccess, AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';

export type PublicationStatus = (typeof publicationStatuses)[number];

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

/** A publication or deployment as it is stored, or a promotion of a site, from the view of all reviews. */
export interface ReviewRow extends Omit<PublicationRow, 'visibility' | 'expires_at'> {
  kind: (typeof reviewKinds)[number];
  visibility: AppAccess['visibility'];
  expires_at: Date | null;
}
type ReviewTables = { reviews: ReviewRow };

export function findReviewRow(db: Db, tenantId: string, id: string): Promise<ReviewRow | undefined> {
  return selectReviews(db, tenantId).selectAll().where('id', '=', id).executeTakeFirst();
}

export interface ReviewFilter {
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
  const rows = await matching
    .selectAll()
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  const { total } = await matching
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total };
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
  return db.withTables<ReviewTables>().selectFrom('reviews').where('tenant_id', '=', tenantId);
}
