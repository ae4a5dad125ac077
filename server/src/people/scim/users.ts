import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import type { Ctx, MutationCtx } from '../../core/context.ts';
import type { PageWindow } from '../../core/paging.ts';
import { deactivateMember, lockTenant, reactivateMember, setMember } from '../tenants/members.ts';
import { createUser, findUser, updateProfile } from '../users/users.ts';
import { invalidValueError, ScimError } from './errors.ts';
import { type Filter, type FilterColumn, filterSql, type Sort, sortSql } from './filter.ts';
import { enterpriseSchema } from './other-attributes.ts';
import { parsePatch } from './patch.ts';
import {
  findScimUser,
  isMemberElsewhere,
  isUserNameTaken,
  listScimUsers,
  type ScimUserRow,
  saveScimUser,
  userColumns,
} from './store.ts';
import { emailOf, nameOf, parseUser, patchUser, type UserAttributes, userSchema } from './user-resource.ts';

const mail: FilterColumn = { sql: sql`u.email`, type: 'text' };
const sortColumns = { ...userColumns, emails: mail, 'emails.value': mail };

type Tenant = { tenantId: string };
type Found = Tenant & { id: string };

export async function listUsers(
  ctx: Pick<Ctx, 'db'>,
  {
    tenantId,
    filter,
    sort,
    window,
  }: Tenant & { filter: Filter | null; sort: Sort | null; window: PageWindow },
) {
  const where = filter ? filterSql(filter, userColumns) : sql`true`;
  return listScimUsers(ctx.db, tenantId, where, window, sortSql(sort, sortColumns));
}

export async function getUser(ctx: Pick<Ctx, 'db'>, { tenantId, id }: Found): Promise<ScimUserRow> {
  const row = await findScimUser(ctx.db, tenantId, id);
  if (!row) throw new ScimError(404, null, 'There is no such user.');
  return row;
}

/** A person who has an account already joins the tenant with it; the answer does not reveal that. */
export async function createScimUser(
  ctx: MutationCtx,
  { tenantId, body }: Tenant & { body: unknown },
): Promise<ScimUserRow> {
  const attributes = parseUser(body, { active: true });
  const email = emailOf(attributes);
  // Checked before the lookup, which also takes ids.
  if (!email.includes('@'))
    throw invalidValueError('userName or a value of emails must be an e-mail address.');
  await lockTenant(ctx.db, tenantId);
  const known = await findUser(ctx, { ref: email });
  const isMember = known !== null && (await findScimUser(ctx.db, tenantId, known.id)) !== null;
  if (isMember || (await isUserNameTaken(ctx.db, tenantId, { name: attributes.userName, userId: null })))
    throw new ScimError(409, 'uniqueness', 'A user with this userName or e-mail address already exists.');
  if (known && known.status !== 'active')
    throw new ScimError(
      409,
      null,
      'This account is suspended; the operator of the platform can activate it.',
    );
  const input = { email, name: nameOf(attributes), provisionedBy: tenantId };
  const { id } = known ?? (await createUser(ctx, input));
  await setMember(ctx, { tenantId, userId: id, role: 'tenant_member' });
  await saveUser(ctx, { tenantId, id, before: null, after: attributes });
  if (!attributes.active) await deactivateMember(ctx, { tenantId, userId: id });
  return getUser(ctx, { tenantId, id });
}

/** Nobody changes the user before the transaction ends. */
export async function lockUser(ctx: MutationCtx, { tenantId, id }: Found): Promise<ScimUserRow> {
  await lockTenant(ctx.db, tenantId);
  return getUser(ctx, { tenantId, id });
}

export async function replaceUser(ctx: MutationCtx, { tenantId, id, body }: Found & { body: unknown }) {
  const row = await lockUser(ctx, { tenantId, id });
  return changeUser(ctx, tenantId, row, parseUser(body, { active: row.is_active }));
}

export async function modifyUser(ctx: MutationCtx, { tenantId, id, body }: Found & { body: unknown }) {
  const row = await lockUser(ctx, { tenantId, id });
  return changeUser(ctx, tenantId, row, patchUser(attributesOf(row), parsePatch(body)));
}

async function changeUser(ctx: MutationCtx, tenantId: string, row: ScimUserRow, after: UserAttributes) {
  const { id } = row;
  if (await isUserNameTaken(ctx.db, tenantId, { name: after.userName, userId: id }))
    throw new ScimError(409, 'uniqueness', 'Another user has this userName.');
  const before = attributesOf(row);
  // RFC 7644 §3.5.2.1: a change to what is there already does not change meta.lastModified.
  if (!isDeepStrictEqual(before, after)) await saveUser(ctx, { tenantId, id, before, after });
  // A person who is in other tenants too, or had an account before, keeps their own name and address.
  if (row.provisioned_by === tenantId && !(await isMemberElsewhere(ctx.db, tenantId, id)))
    await updateProfile(ctx, { userId: id, email: emailOf(after), name: nameOf(after) || row.name });
  // Repeated for a deactivated member: a sign-in that was in progress may have completed since.
  if (!after.active) await deactivateMember(ctx, { tenantId, userId: id });
  else if (row.is_deactivated) await reactivateMember(ctx, { tenantId, userId: id });
  return getUser(ctx, { tenantId, id });
}

/** Ends all access like a deactivation, then the membership. The account stays: it may be in other tenants. */
export async function deleteUser(ctx: MutationCtx, { tenantId, id }: Found): Promise<undefined> {
  await lockUser(ctx, { tenantId, id });
  await deactivateMember(ctx, { tenantId, userId: id });
  await setMember(ctx, { tenantId, userId: id, role: 'none' });
}

async function saveUser(
  ctx: MutationCtx,
  { tenantId, id, before, after }: Found & { before: UserAttributes | null; after: UserAttributes },
): Promise<void> {
  await saveScimUser(ctx.db, { tenantId, userId: id, now: ctx.now }, after);
  // The audit log is never deleted: it has the names of what only the directory uses, without values.
  const auditFields = ({ active: _, other, ...attributes }: UserAttributes) => ({
    ...attributes,
    other: Object.keys(other).sort(),
  });
  ctx.audit({
    action: 'members.provision',
    target: { kind: 'member', id, name: after.userName },
    before: before && auditFields(before),
    after: auditFields(after),
  });
}

function attributesOf(row: ScimUserRow): UserAttributes {
  return {
    userName: row.user_name ?? row.email,
    externalId: row.external_id,
    active: row.is_active,
    displayName: row.attributes ? row.attributes.displayName : row.name,
    name: row.attributes?.name ?? {},
    emails: row.attributes?.emails ?? [{ value: row.email, type: 'work', primary: true }],
    other: row.attributes?.other ?? {},
  };
}

export function userResource(row: ScimUserRow, baseUrl: string) {
  const { userName, externalId, displayName, name, emails, active, other } = attributesOf(row);
  return {
    schemas: enterpriseSchema in other ? [userSchema, enterpriseSchema] : [userSchema],
    id: row.id,
    externalId: externalId ?? undefined,
    userName,
    name: { ...name, formatted: name.formatted ?? row.name },
    displayName: displayName ?? row.name,
    emails: emails.map((email) => ({ ...email, type: email.type ?? undefined })),
    ...other,
    active,
    groups: row.groups.map((group) => ({ ...group, $ref: `${baseUrl}/scim/v2/Groups/${group.value}` })),
    meta: {
      resourceType: 'User',
      created: row.created_at.toISOString(),
      lastModified: row.updated_at.toISOString(),
      location: `${baseUrl}/scim/v2/Users/${row.id}`,
    },
  };
}
