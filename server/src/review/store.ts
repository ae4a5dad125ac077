import type { publicationPins, publicationStatuses, publishedVisibilities } from '@svc/contract/review.ts';
import { sql } from 'kysely';
import type { AppAccess } from '../plumbing/context.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';

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
  note: string;
  requested_by: string;
  requested_at: Date;
  expires_at: Date;
  decided_by: string | null;
  decided_at: Date | null;
  reason: string;
}
type Tables = { publication_requests: PublicationRow };

/** Of which app. */
export interface AppPlace {
  tenantId: string;
  appId: string;
}

export async function insertPublicationRow(tx: Tx, row: PublicationRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('publication_requests').values(row).execute();
}

export function findPublicationRow(
  db: Db,
  tenantId: string,
  id: string,
): Promise<PublicationRow | undefined> {
  return requestsOf(db, tenantId).selectAll().where('id', '=', id).executeTakeFirst();
}

/** There is one at most. */
export function findOpenPublicationRow(
  db: Db,
  { tenantId, appId }: AppPlace,
): Promise<PublicationRow | undefined> {
  return requestsOf(db, tenantId)
    .selectAll()
    .where('app_id', '=', appId)
    .where('status', '=', 'pending')
    .executeTakeFirst();
}

/** One that waits; whoever ends it holds its app. */
export function endPublicationRow(
  tx: Tx,
  tenantId: string,
  {
    id,
    set,
  }: {
    id: string;
    set: Pick<PublicationRow, 'decided_by' | 'decided_at' | 'reason'> & {
      status: Exclude<PublicationStatus, 'pending'>;
    };
  },
): Promise<PublicationRow> {
  return tx
    .withTables<Tables>()
    .updateTable('publication_requests')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirstOrThrow();
}

export interface Wanted {
  appId?: string | undefined;
  status?: PublicationStatus | 'settled' | undefined;
  visibility?: PublicationRow['visibility'] | undefined;
  /** What has waited for too long is over by then, also before that is written down. */
  now: Date;
}

/** The newest first. */
export async function listPublicationRows(
  db: Db,
  tenantId: string,
  { appId, status, visibility, now }: Wanted,
  window: Window,
): Promise<{ rows: PublicationRow[]; total: number }> {
  const isWaiting = sql<boolean>`(status = 'pending' and expires_at > ${now})`;
  let wanted = requestsOf(db, tenantId);
  if (appId !== undefined) wanted = wanted.where('app_id', '=', appId);
  if (visibility !== undefined) wanted = wanted.where('visibility', '=', visibility);
  if (status === 'pending') wanted = wanted.where(isWaiting);
  else if (status === 'settled') wanted = wanted.where(sql<boolean>`not ${isWaiting}`);
  else if (status === 'expired')
    wanted = wanted.where(sql<boolean>`(status = 'expired' or (status = 'pending' and not ${isWaiting}))`);
  else if (status !== undefined) wanted = wanted.where('status', '=', status);
  const rows = await wanted
    .selectAll()
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  const { total } = await wanted
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total };
}

/** In every tenant: what has waited for too long. The sweep alone asks. */
export async function listOverduePublications(db: Db): Promise<Pick<PublicationRow, 'id' | 'tenant_id'>[]> {
  return db
    .withTables<Tables>()
    .selectFrom('publication_requests')
    .select(['id', 'tenant_id'])
    .where('status', '=', 'pending')
    .where(sql<boolean>`expires_at <= now()`)
    .orderBy('expires_at')
    .limit(endedAtOnceMax)
    .execute();
}

/** The rest is for the next run. */
const endedAtOnceMax = 500;

function requestsOf(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('publication_requests').where('tenant_id', '=', tenantId);
}
