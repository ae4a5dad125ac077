import { sql } from 'kysely';
import type { AppAccess } from '../plumbing/context.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import { isUuid } from '../plumbing/ref.ts';

export interface AppRow {
  id: string;
  tenant_id: string;
  slug: string;
  name: string;
  owner_id: string;
  visibility: AppAccess['visibility'];
  record: AppAccess['record'];
  created_at: Date;
  updated_at: Date;
}
export interface CoOwnerRow {
  app_id: string;
  user_id: string;
  added_by: string;
  created_at: Date;
}
type Tables = { apps: AppRow; app_co_owners: CoOwnerRow };

/** Deleted and purged apps keep their slug, and are there for nobody. */
const present = ['active', 'archived'] as const;

/** The caller's own, and those that are open to them. */
export async function listAppRows(
  db: Db,
  tenantId: string,
  { userId, open }: { userId: string; open: readonly AppRow['visibility'][] },
  window: Window,
) {
  const seen = ofTenant(db, tenantId).where((e) =>
    e.or([
      e('apps.owner_id', '=', userId),
      e('apps.visibility', 'in', open),
      e.exists(
        e
          .selectFrom('app_co_owners')
          .select('app_co_owners.user_id')
          .whereRef('app_co_owners.app_id', '=', 'apps.id')
          .where('app_co_owners.user_id', '=', userId),
      ),
    ]),
  );
  const rows = await seen.selectAll().orderBy('slug').limit(window.limit).offset(window.offset).execute();
  const { total } = await seen.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

export function findAppRow(db: Db, tenantId: string, ref: string): Promise<AppRow | undefined> {
  return byRef(db, tenantId, ref).selectAll().executeTakeFirst();
}

/** With what the user is to it, by one question. */
export function findAppRowOf(
  db: Db,
  tenantId: string,
  userId: string,
  ref: string,
): Promise<(AppRow & { relation: AppAccess['relation'] }) | undefined> {
  return byRef(db, tenantId, ref)
    .selectAll('apps')
    .select(
      sql<AppAccess['relation']>`case
        when apps.owner_id = ${userId} then 'owner'
        when exists (select from svc.app_co_owners c where c.app_id = apps.id and c.user_id = ${userId}) then 'co_owner'
        else 'none' end`.as('relation'),
    )
    .executeTakeFirst();
}

/** Puts changes of the app itself in line; rows that refer to it may still come and go. */
export function lockAppRow(tx: Tx, tenantId: string, id: string): Promise<AppRow | undefined> {
  return byRef(tx, tenantId, id).selectAll().forNoKeyUpdate().executeTakeFirst();
}

/** False when another app of the tenant has the slug. */
export async function insertAppRow(tx: Tx, row: AppRow): Promise<boolean> {
  const inserted = await tx
    .withTables<Tables>()
    .insertInto('apps')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'slug']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** Of an app of the tenant, in the order in which they were added. */
export function listCoOwnerRows(db: Db, tenantId: string, appId: string): Promise<CoOwnerRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('app_co_owners')
    .innerJoin('apps', 'apps.id', 'app_co_owners.app_id')
    .selectAll('app_co_owners')
    .where('apps.tenant_id', '=', tenantId)
    .where('apps.id', '=', appId)
    .orderBy('app_co_owners.created_at')
    .orderBy('app_co_owners.user_id')
    .execute();
}

export async function insertCoOwnerRow(tx: Tx, row: CoOwnerRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('app_co_owners').values(row).execute();
}

export async function deleteCoOwnerRow(
  tx: Tx,
  tenantId: string,
  { appId, userId }: { appId: string; userId: string },
): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('app_co_owners')
    .using('apps')
    .whereRef('apps.id', '=', 'app_co_owners.app_id')
    .where('apps.tenant_id', '=', tenantId)
    .where('app_co_owners.app_id', '=', appId)
    .where('app_co_owners.user_id', '=', userId)
    .execute();
}

/**
 * In every app of the tenant, deleted ones too; these apps. No app is locked: who adds a co-owner holds the app and
 * waits for the membership, which this comes after.
 */
export async function deleteCoOwnerRowsOf(
  tx: Tx,
  tenantId: string,
  userId: string,
): Promise<Pick<AppRow, 'id' | 'slug'>[]> {
  const apps = await tx
    .withTables<Tables>()
    .deleteFrom('app_co_owners')
    .using('apps')
    .whereRef('apps.id', '=', 'app_co_owners.app_id')
    .where('apps.tenant_id', '=', tenantId)
    .where('app_co_owners.user_id', '=', userId)
    .returning(['apps.id', 'apps.slug'])
    .execute();
  return apps.sort((one, other) => (one.id < other.id ? -1 : 1));
}

function byRef(db: Db, tenantId: string, ref: string) {
  return ofTenant(db, tenantId).where(isUuid(ref) ? 'apps.id' : 'apps.slug', '=', ref);
}

function ofTenant(db: Db, tenantId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('apps')
    .where('apps.tenant_id', '=', tenantId)
    .where('apps.record', 'in', present);
}
