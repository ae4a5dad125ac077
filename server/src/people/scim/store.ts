import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';
import type { FilterColumn, FilterColumns } from './filter.ts';
import {
  enterpriseSchema,
  enterpriseTexts,
  managerParts,
  otherLists,
  otherTexts,
} from './other-attributes.ts';
import { nameParts, type UserAttributes, userSchema } from './user-resource.ts';

type StoredAttributes = Pick<UserAttributes, 'displayName' | 'name' | 'emails'> &
  Partial<Pick<UserAttributes, 'other'>>;

export interface ScimUserRow {
  id: string;
  email: string;
  name: string;
  is_active: boolean;
  is_deactivated: boolean;
  provisioned_by: string | null;
  user_name: string | null;
  external_id: string | null;
  attributes: StoredAttributes | null;
  groups: { value: string; display: string }[];
  created_at: Date;
  updated_at: Date;
}

const userName = sql`coalesce(s.user_name, u.email)`;

const text = (path: RawBuilder<unknown>): FilterColumn => ({ sql: path, type: 'text' });
const columnsOf = (names: readonly string[], prefix: string, column: (name: string) => FilterColumn) =>
  Object.fromEntries(names.map((name) => [`${prefix}${name}`.toLowerCase(), column(name)]));
const other = sql`s.attributes -> 'other'`;
const extension = sql`${other} -> ${sql.lit(enterpriseSchema)}`;

const extensionColumns = (prefix: string): FilterColumns => ({
  ...columnsOf(enterpriseTexts, prefix, (name) => text(sql`${extension} ->> ${sql.lit(name)}`)),
  ...columnsOf(['manager'], prefix, () => text(sql`${extension} -> 'manager' ->> 'value'`)),
  ...columnsOf(managerParts, `${prefix}manager.`, (name) =>
    text(sql`${extension} -> 'manager' ->> ${sql.lit(name)}`),
  ),
});

export const userColumns: FilterColumns = {
  id: text(sql`u.id`),
  schemas: {
    sql: sql`jsonb_array_elements(case when ${extension} is null then ${sql.lit(JSON.stringify([userSchema]))}::jsonb
      else ${sql.lit(JSON.stringify([userSchema, enterpriseSchema]))}::jsonb end)`,
    type: 'list',
  },
  username: text(userName),
  externalid: { sql: sql`s.external_id`, type: 'exact' },
  displayname: text(sql`coalesce(s.attributes ->> 'displayName', u.name)`),
  ...columnsOf(nameParts, 'name.', (name) => text(sql`s.attributes -> 'name' ->> ${sql.lit(name)}`)),
  active: { sql: sql`(u.status = 'active' and m.deactivated_at is null)`, type: 'boolean' },
  'meta.created': { sql: sql`m.created_at`, type: 'time' },
  'meta.lastmodified': { sql: sql`coalesce(s.updated_at, m.created_at)`, type: 'time' },
  'meta.resourcetype': text(sql`'User'`),
  emails: {
    sql: sql`jsonb_array_elements(coalesce(s.attributes -> 'emails',
      jsonb_build_array(jsonb_build_object('value', u.email, 'type', 'work', 'primary', true))))`,
    type: 'list',
  },
  ...columnsOf(otherTexts, '', (name) => text(sql`${other} ->> ${sql.lit(name)}`)),
  ...columnsOf(otherLists, '', (name) => ({
    sql: sql`jsonb_array_elements(${other} -> ${sql.lit(name)})`,
    type: 'list',
  })),
  // Entra leaves out the schema.
  ...extensionColumns(''),
  ...extensionColumns(`${enterpriseSchema}:`),
};

export async function listScimUsers(
  db: Db,
  tenantId: string,
  where: RawBuilder<unknown>,
  window: PageWindow,
  order: RawBuilder<unknown> = sql``,
): Promise<{ rows: ScimUserRow[]; total: number }> {
  const filter = sql`from svc.memberships m join svc.users u on u.id = m.user_id
    left join svc.scim_users s on s.tenant_id = m.tenant_id and s.user_id = m.user_id
    where m.tenant_id = ${tenantId} and ${where}`;
  const { rows } = await sql<ScimUserRow>`
    select u.id, u.email, u.name, (u.status = 'active' and m.deactivated_at is null) as is_active,
      m.deactivated_at is not null as is_deactivated, u.provisioned_by, s.user_name, s.external_id, s.attributes,
      m.created_at, coalesce(s.updated_at, m.created_at) as updated_at,
      coalesce((select jsonb_agg(jsonb_build_object('value', g.id, 'display', g.display_name) order by g.name)
        from svc.group_members gm join svc.groups g on g.id = gm.group_id
        where gm.tenant_id = m.tenant_id and gm.user_id = m.user_id), '[]') as groups
    ${filter} order by ${order} m.created_at, u.id limit ${window.limit} offset ${window.offset}`.execute(db);
  const count = await sql<{ total: number }>`select count(*)::int as total ${filter}`.execute(db);
  return { rows, total: count.rows[0]?.total ?? 0 };
}

export async function findScimUser(db: Db, tenantId: string, id: string): Promise<ScimUserRow | null> {
  if (!isUuid(id)) return null;
  const { rows } = await listScimUsers(db, tenantId, sql`u.id = ${id}`, { limit: 1, offset: 0 });
  return rows[0] ?? null;
}

export async function isUserNameTaken(
  db: Db,
  tenantId: string,
  { name, userId }: { name: string; userId: string | null },
): Promise<boolean> {
  const isOther = sql`lower(${userName}) = lower(${name}) and u.id is distinct from ${userId}::uuid`;
  return (await listScimUsers(db, tenantId, isOther, { limit: 1, offset: 0 })).total > 0;
}

export async function saveScimUser(
  tx: Tx,
  { tenantId, userId, now }: { tenantId: string; userId: string; now: Date },
  { userName, externalId, displayName, name, emails, other }: UserAttributes,
): Promise<void> {
  const attributes = JSON.stringify({ displayName, name, emails, other });
  await sql`insert into svc.scim_users (tenant_id, user_id, user_name, external_id, attributes, updated_at)
    values (${tenantId}, ${userId}, ${userName}, ${externalId}, ${attributes}::jsonb, ${now})
    on conflict (tenant_id, user_id) do update set user_name = excluded.user_name,
      external_id = excluded.external_id, attributes = excluded.attributes, updated_at = excluded.updated_at`.execute(
    tx,
  );
}

export async function isMemberElsewhere(db: Db, tenantId: string, userId: string): Promise<boolean> {
  const { rows } = await sql`
    select from svc.memberships where user_id = ${userId} and tenant_id <> ${tenantId} limit 1`.execute(db);
  return rows.length > 0;
}

export interface ScimTokenRow {
  id: string;
  tenant_id: string;
  name: string;
  secret_hash: string;
  hint: string;
  created_at: Date;
  last_used_at: Date | null;
  revoked_at: Date | null;
}
type Tables = { scim_tokens: ScimTokenRow };

export async function insertTokenRow(tx: Tx, row: ScimTokenRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('scim_tokens').values(row).execute();
}

export function listTokenRows(db: Db, tenantId: string): Promise<ScimTokenRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('scim_tokens')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export function revokeTokenRow(
  tx: Tx,
  tenantId: string,
  { id, at }: { id: string; at: Date },
): Promise<ScimTokenRow | undefined> {
  return tx
    .withTables<Tables>()
    .updateTable('scim_tokens')
    .set({ revoked_at: at })
    .where((e) => e.and({ tenant_id: tenantId, id }))
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
}

/** Without a tenant: the secret identifies it. Not cached, so that a revocation takes effect at once. */
export function findTokenByHash(db: Db, hash: string): Promise<ScimTokenRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('scim_tokens')
    .selectAll()
    .where('secret_hash', '=', hash)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
}

export async function markTokenUsed(db: Db, id: string): Promise<void> {
  await sql`update svc.scim_tokens set last_used_at = now()
    where id = ${id} and (last_used_at is null or last_used_at < now() - interval '1 minute')`.execute(db);
}
