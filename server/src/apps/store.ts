import type { authModes, deployMethods, deploymentStatuses, operatingStatuses } from '@svc/contract/apps.ts';
import type { resourceTiers } from '@svc/contract/limits.ts';
import { type GeneratedAlways, sql } from 'kysely';
import { standingCategory } from '../categories/standing-category.ts';
import type { AppAccess } from '../plumbing/context.ts';
import { sqlState } from '../plumbing/database-errors.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';

export interface AppRow {
  id: string;
  tenant_id: string;
  slug: string;
  name: string;
  owner_id: string;
  summary: string;
  description: string;
  category_id: string | null;
  subdomain: string | null;
  auth_mode: (typeof authModes)[number];
  data_scopes: string[];
  deploy_method: (typeof deployMethods)[number];
  resource_preset: (typeof resourceTiers)[number];
  visibility: AppAccess['visibility'];
  cost_center: string | null;
  icon_url: string | null;
  icon_dark_url: string | null;
  record: AppAccess['record'];
  runtime: 'none' | 'running' | 'suspended';
  is_deployed: boolean;
  deployment_status: (typeof deploymentStatuses)[number];
  operating_status: (typeof operatingStatuses)[number];
  review_status: string;
  owner_since: Date;
  archived_at: Date | null;
  deleted_at: Date | null;
  purge_after: Date | null;
  created_at: Date;
  updated_at: Date;
}
export interface CoOwnerRow {
  app_id: string;
  user_id: string;
  added_by: string;
  created_at: Date;
}
/** What PostgreSQL derives from the rest is never written. */
type Derived = 'deployment_status' | 'operating_status';
export type NewAppRow = Omit<AppRow, Derived>;
type AppTable = NewAppRow & { [K in Derived]: GeneratedAlways<AppRow[K]> };
type Tables = { apps: AppTable; app_co_owners: CoOwnerRow };

/** Deleted apps keep their slug, and are there only for what restores or purges them. */
const present = ['active', 'archived'] as const;
const any = [...present, 'deleted'] as const;
type Records = 'present' | 'any';

/** All but what only searches look at. */
export const appColumns = [
  'apps.id',
  'apps.tenant_id',
  'apps.slug',
  'apps.name',
  'apps.owner_id',
  'apps.summary',
  'apps.description',
  standingCategory.as('category_id'),
  'apps.subdomain',
  'apps.auth_mode',
  'apps.data_scopes',
  'apps.deploy_method',
  'apps.resource_preset',
  'apps.visibility',
  'apps.cost_center',
  'apps.icon_url',
  'apps.icon_dark_url',
  'apps.record',
  'apps.runtime',
  'apps.is_deployed',
  'apps.deployment_status',
  'apps.operating_status',
  'apps.review_status',
  'apps.owner_since',
  'apps.archived_at',
  'apps.deleted_at',
  'apps.purge_after',
  'apps.created_at',
  'apps.updated_at',
] as const;

export function findAppRow(
  db: Db,
  tenantId: string,
  ref: string,
  records: Records = 'present',
): Promise<AppRow | undefined> {
  return byRef(db, tenantId, ref, records).select(appColumns).executeTakeFirst();
}

/** With what the user is to it, by one question. */
export function findAppRowOf(
  db: Db,
  tenantId: string,
  userId: string,
  ref: string,
  records: Records = 'present',
): Promise<(AppRow & { relation: AppAccess['relation'] }) | undefined> {
  return byRef(db, tenantId, ref, records)
    .select(appColumns)
    .select(
      sql<AppAccess['relation']>`case
        when apps.owner_id = ${userId} then 'owner'
        when exists (select from svc.app_co_owners c where c.app_id = apps.id and c.user_id = ${userId}) then 'co_owner'
        when exists (select from svc.app_members m where m.app_id = apps.id and m.user_id = ${userId}) then 'member'
        else 'none' end`.as('relation'),
    )
    .executeTakeFirst();
}

/** Puts changes of the app itself in line; rows that refer to it may still come and go. */
export function lockAppRow(
  tx: Tx,
  tenantId: string,
  id: string,
  records: Records = 'present',
): Promise<AppRow | undefined> {
  return byRef(tx, tenantId, id, records).select(appColumns).forNoKeyUpdate().executeTakeFirst();
}

/** Undefined when another app has the slug or the subdomain. */
export function insertAppRow(tx: Tx, row: NewAppRow): Promise<AppRow | undefined> {
  return tx
    .withTables<Tables>()
    .insertInto('apps')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning(appColumns)
    .executeTakeFirst();
}

/** The subdomain is the one thing in it that another app may have. */
export async function updateAppRow(
  tx: Tx,
  tenantId: string,
  { id, set }: { id: string; set: Partial<NewAppRow> },
): Promise<AppRow | 'subdomain_taken'> {
  try {
    return await tx
      .withTables<Tables>()
      .updateTable('apps')
      .set(set)
      .where('tenant_id', '=', tenantId)
      .where('id', '=', id)
      .returning(appColumns)
      .executeTakeFirstOrThrow();
  } catch (error) {
    if (sqlState(error) === '23505') return 'subdomain_taken';
    throw error;
  }
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

function byRef(db: Db, tenantId: string, ref: string, records: Records = 'present') {
  return ofTenant(db, tenantId, records).where(isUuid(ref) ? 'apps.id' : 'apps.slug', '=', ref);
}

function ofTenant(db: Db, tenantId: string, records: Records = 'present') {
  return db
    .withTables<Tables>()
    .selectFrom('apps')
    .where('apps.tenant_id', '=', tenantId)
    .where('apps.record', 'in', records === 'any' ? any : present);
}
