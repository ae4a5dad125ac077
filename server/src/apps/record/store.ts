import { App } from '@svc/contract/apps.shapes.ts';
import { type GeneratedAlways, type RawBuilder, sql } from 'kysely';
import type { z } from 'zod';
import type { AppAccess, Ctx } from '../../core/context.ts';
import { type Db, sqlState, type Tx } from '../../core/db.ts';
import { isUuid } from '../../core/values.ts';
import { currentGroupIds } from '../../people/groups/groups.ts';
import type { AppRef } from '../app-events.ts';
import { currentCategory } from '../categories/categories.ts';

type Times = 'deleted_at' | 'purge_after' | 'created_at' | 'updated_at';
export interface AppRow extends Omit<z.output<typeof App>, Times> {
  is_deployed: boolean;
  preview_of: string | null;
  owner_since: Date;
  archived_at: Date | null;
  deleted_at: Date | null;
  purge_after: Date | null;
  created_at: Date;
  updated_at: Date;
}
export type AppRowForUser = AppRow &
  Pick<AppAccess, 'relation'> & {
    access_visibility: AppAccess['visibility'];
  };
type Derived = 'deployment_status' | 'operating_status';
export type NewAppRow = Omit<AppRow, Derived>;
type AppTable = NewAppRow & { [K in Derived]: GeneratedAlways<AppRow[K]> };
type Tables = { apps: AppTable };

/** The people of a preview are those of its app. */
const peopleId = sql`coalesce(apps.preview_of, apps.id)`;

const present = ['active', 'archived'] as const;
const any = [...present, 'deleted'] as const;
type Records = 'present' | 'any';

const contractColumns = (Object.keys(App.shape) as (keyof typeof App.shape)[]).flatMap((name) =>
  name === 'category_id' ? [] : (`apps.${name}` as const),
);
export const appColumns = [
  ...contractColumns,
  currentCategory.as('category_id'),
  'apps.is_deployed',
  'apps.preview_of',
  'apps.owner_since',
  'apps.archived_at',
] as const;

export function findAppRow(
  db: Db,
  tenantId: string,
  ref: string,
  records: Records = 'present',
): Promise<AppRow | undefined> {
  return selectByRef(db, tenantId, ref, records).select(appColumns).executeTakeFirst();
}

export function findAppRowForUser(
  db: Db,
  tenantId: string,
  userId: string,
  ref: string,
  records: Records = 'present',
): Promise<AppRowForUser | undefined> {
  return selectByRef(db, tenantId, ref, records)
    .select(appColumns)
    .select(
      sql<AppAccess['relation']>`case
        when apps.owner_id = ${userId} then 'owner'
        when exists (select from svc.app_co_owners c where c.app_id = ${peopleId} and c.user_id = ${userId}) then 'co_owner'
        when exists (select from svc.app_members m where m.app_id = ${peopleId} and m.user_id = ${userId}) then 'member'
        when exists (select from svc.app_member_groups g where g.app_id = ${peopleId}
          and g.group_id in ${currentGroupIds(tenantId, userId)}) then 'member'
        else 'none' end`.as('relation'),
    )
    .select(
      // Nobody sees more of an app by its previews than the review of the app itself allows.
      sql<AppAccess['visibility']>`coalesce(
        (select case p.visibility when 'private' then 'private' else 'invite_only' end
          from svc.apps p where p.id = apps.preview_of), apps.visibility)`.as('access_visibility'),
    )
    .executeTakeFirst();
}

interface AppById {
  id: string;
  tenantId: string;
  slug: string;
  subdomain: string | null;
  name: string;
  ownerId: string;
  visibility: AppAccess['visibility'];
  record: AppAccess['record'];
  runtime: AppRow['runtime'];
  previewOf: string | null;
}

export async function findAppById({ db }: Pick<Ctx, 'db'>, { id }: { id: string }): Promise<AppById | null> {
  if (!isUuid(id)) return null;
  const { rows } = await sql<AppById>`
    select id, tenant_id as "tenantId", slug, subdomain, name, owner_id as "ownerId", visibility, record, runtime,
      preview_of as "previewOf"
    from svc.apps where id = ${id} and record in ('active', 'archived')`.execute(db);
  return rows[0] ?? null;
}

export async function findAppBySubdomain({ db }: Pick<Ctx, 'db'>, { subdomain }: { subdomain: string }) {
  const { rows } = await sql<{ id: string }>`
    select id from svc.apps where subdomain = ${subdomain} and record in ('active', 'archived')`.execute(db);
  return rows[0]?.id ?? null;
}

export async function listOwnedAppIds(db: Db, tenantId: string, { userId }: { userId: string }) {
  const { rows } = await sql<{ id: string }>`
    select id from svc.apps
    where tenant_id = ${tenantId} and record in ('active', 'archived') and preview_of is null and (owner_id = ${userId}
      or exists (select from svc.app_co_owners c where c.app_id = apps.id and c.user_id = ${userId}))`.execute(
    db,
  );
  return rows.map(({ id }) => id);
}

/** Serializes changes of the app; rows that reference it are not blocked. */
export function lockAppRow(
  tx: Tx,
  tenantId: string,
  id: string,
  records: Records = 'present',
): Promise<AppRow | undefined> {
  return selectByRef(tx, tenantId, id, records).select(appColumns).forNoKeyUpdate().executeTakeFirst();
}

export function insertAppRow(tx: Tx, row: NewAppRow): Promise<AppRow | undefined> {
  return tx
    .withTables<Tables>()
    .insertInto('apps')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning(appColumns)
    .executeTakeFirst();
}

export type AppChange = Partial<NewAppRow> & { deleted_from?: 'active' | 'archived' | null };

/** Only the subdomain can conflict with another app; see `isSubdomainTaken`. */
export function updateAppRow(tx: Tx, tenantId: string, id: string, set: AppChange): Promise<AppRow> {
  return tx
    .withTables<{ apps: AppTable & Pick<AppChange, 'deleted_from'> }>()
    .updateTable('apps')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .returning(appColumns)
    .executeTakeFirstOrThrow();
}

export function isSubdomainTaken(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/** Counts deleted apps too: a restored app has the tier it had before. */
export async function countAppsWithTier(
  db: Db,
  tenantId: string,
  tiers: readonly AppRow['resource_preset'][],
): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from svc.apps
    where tenant_id = ${tenantId} and preview_of is null and resource_preset = any(${[...tiers]})`.execute(
    db,
  );
  return rows[0]?.total ?? 0;
}

export async function removeAppsFromCategory(
  db: Db,
  tenantId: string,
  { categoryId, appsMax }: { categoryId: string; appsMax: number },
): Promise<boolean> {
  const { numAffectedRows } = await sql`update svc.apps set category_id = null
    where tenant_id = ${tenantId} and id in (
      select id from svc.apps where tenant_id = ${tenantId} and category_id = ${categoryId}
      limit ${appsMax} for no key update)`.execute(db);
  return numAffectedRows === BigInt(appsMax);
}

function selectByRef(db: Db, tenantId: string, ref: string, records: Records) {
  return db
    .withTables<Tables>()
    .selectFrom('apps')
    .where('apps.tenant_id', '=', tenantId)
    .where('apps.record', 'in', records === 'any' ? any : present)
    .where(isUuid(ref) ? 'apps.id' : 'apps.slug', '=', ref);
}

export async function isInReview(db: Db, appId: string): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`select svc.is_in_review(${appId}) as is`.execute(db);
  return rows[0]?.is === true;
}

export async function findRecordBeforeDeletion(tx: Tx, tenantId: string, id: string) {
  const { rows } = await sql<Pick<AppChange, 'deleted_from'>>`
    select deleted_from from svc.apps where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
  return rows[0]?.deleted_from ?? 'active';
}

/** Foreign keys delete everything that references the app. */
export async function deleteAppRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await sql`delete from svc.apps where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
}

export async function listAppsToPurge(db: Db): Promise<AppRef[]> {
  const { rows } = await sql<AppRef>`
    select id as "appId", tenant_id as "tenantId", slug from svc.apps
    where record = 'deleted' and purge_after <= now() order by purge_after limit 500`.execute(db);
  return rows;
}

interface PreviewApp {
  id: string;
  slug: string;
  subdomain: string | null;
}

export async function listPreviewApps(db: Db, parentId: string): Promise<PreviewApp[]> {
  const { rows } = await sql<PreviewApp>`
    select id, slug, subdomain from svc.apps where preview_of = ${parentId} order by id`.execute(db);
  return rows;
}

export async function updateSubdomain(tx: Tx, { id }: PreviewApp, subdomain: string): Promise<void> {
  await sql`update svc.apps set subdomain = ${subdomain} where id = ${id}`.execute(tx);
}

export function filterFreeSubdomains(db: Db, tenantId: string, names: readonly string[]): Promise<string[]> {
  const isFree = sql`not exists (select from svc.apps where apps.subdomain = candidate.name)
    and not exists (select from svc.reserved_names r where r.kind = 'subdomain' and r.name = candidate.name
      and r.tenant_id <> ${tenantId} and r.until > now())`;
  return filterNames(db, names, isFree);
}

/** Deleted apps keep their slugs. */
export function filterFreeSlugs(db: Db, tenantId: string, names: readonly string[]): Promise<string[]> {
  const isFree = sql`not exists (
    select from svc.apps where apps.tenant_id = ${tenantId} and apps.slug = candidate.name)`;
  return filterNames(db, names, isFree);
}

async function filterNames(db: Db, names: readonly string[], isFree: RawBuilder<unknown>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${[...names]}::text[]) with ordinality as candidate (name, position)
    where ${isFree} order by position`.execute(db);
  return rows.map(({ name }) => name);
}

/** Called after the app has the name: its former owner may release it while this transaction waits for the row. */
export async function claimSubdomain(tx: Tx, tenantId: string, subdomain: string): Promise<boolean> {
  const { rows } = await sql<{ tenant_id: string }>`
    select tenant_id from svc.reserved_names
    where kind = 'subdomain' and name = ${subdomain} and until > now()`.execute(tx);
  if (rows[0] && rows[0].tenant_id !== tenantId) return false;
  await sql`delete from svc.reserved_names where kind = 'subdomain' and name = ${subdomain}`.execute(tx);
  return true;
}

export async function reserveSubdomain(
  tx: Tx,
  tenantId: string,
  { subdomain, until }: { subdomain: string; until: Date },
): Promise<void> {
  await sql`
    insert into svc.reserved_names (kind, name, tenant_id, until)
    values ('subdomain', ${subdomain}, ${tenantId}, ${until})
    on conflict (kind, name)
      do update set tenant_id = excluded.tenant_id, until = excluded.until`.execute(tx);
}

export async function deleteExpiredNames(db: Db): Promise<void> {
  await sql`delete from svc.reserved_names where until <= now()`.execute(db);
}
