import { isObject } from '@svc/contract/json.ts';
import { sql } from 'kysely';
import type { Ctx, MutationCtx } from '../../core/context.ts';
import type { PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';
import {
  type CountedGroupRow,
  findGroup,
  type GroupMemberRow,
  insertManagedGroup,
  listGroupsWhere,
  listMembersOfGroup,
  lockGroup,
  lockTenantGroups,
  removeGroup,
  saveGroup,
} from '../groups/groups.ts';
import { changeGroupMembers } from '../groups/members.ts';
import { invalidValueError, ScimError } from './errors.ts';
import { type Filter, type FilterColumns, filterSql, type Sort, sortSql } from './filter.ts';
import { attributeOf, matches, type Operation, parsePatch } from './patch.ts';
import { parseText } from './user-resource.ts';

export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

type Tenant = { tenantId: string };
type Found = Tenant & { id: string };

export interface ScimGroup extends CountedGroupRow {
  members: GroupMemberRow[];
}

interface GroupAttributes {
  displayName: string;
  externalId: string | null;
  members: ReadonlySet<string>;
}

const groupColumns: FilterColumns = {
  id: { sql: sql`g.id`, type: 'text' },
  schemas: { sql: sql`(select ${sql.lit(JSON.stringify(groupSchema))}::jsonb)`, type: 'list' },
  displayname: { sql: sql`g.display_name`, type: 'text' },
  externalid: { sql: sql`g.external_id`, type: 'exact' },
  'meta.created': { sql: sql`g.created_at`, type: 'time' },
  'meta.lastmodified': { sql: sql`g.updated_at`, type: 'time' },
  'meta.resourcetype': { sql: sql`'Group'`, type: 'text' },
  members: {
    sql: sql`(select jsonb_build_object('value', gm.user_id, 'display', gu.name) from svc.group_members gm
      join svc.users gu on gu.id = gm.user_id where gm.group_id = g.id)`,
    type: 'list',
  },
};

/** Only groups that the directory created: it could not change the others. */
export async function listScimGroups(
  ctx: Pick<Ctx, 'db'>,
  {
    tenantId,
    filter,
    sort,
    window,
    withMembers,
  }: Tenant & {
    filter: Filter | null;
    sort: Sort | null;
    window: PageWindow;
    withMembers: boolean;
  },
): Promise<{ rows: ScimGroup[]; total: number }> {
  const where = sql`g.source = 'scim' and ${filter ? filterSql(filter, groupColumns) : sql`true`}`;
  const order = sql`${sortSql(sort, groupColumns)} g.created_at, g.id`;
  const { rows, total } = await listGroupsWhere(ctx.db, tenantId, { where, order }, window);
  const complete: ScimGroup[] = [];
  for (const row of rows)
    complete.push({ ...row, members: withMembers ? (await listMembersOfGroup(ctx.db, row)).rows : [] });
  return { rows: complete, total };
}

export async function getScimGroup(ctx: Pick<Ctx, 'db'>, { tenantId, id }: Found): Promise<ScimGroup> {
  const row = isUuid(id) ? await findGroup(ctx.db, tenantId, id) : undefined;
  return withMembersOf(ctx, row);
}

export async function createScimGroup(ctx: MutationCtx, { tenantId, body }: Tenant & { body: unknown }) {
  const { displayName, externalId, members } = parseGroup(body);
  await lockTenantGroups(ctx.db, tenantId);
  await requireUnusedName(ctx, { tenantId, id: null, displayName });
  const row = await insertManagedGroup(ctx, {
    tenant_id: tenantId,
    display_name: displayName,
    external_id: externalId,
    source: 'scim',
  });
  await changeGroupMembers(ctx, row, { add: [...members], remove: [] });
  return getScimGroup(ctx, { tenantId, id: row.id });
}

export async function replaceScimGroup(ctx: MutationCtx, { tenantId, id, body }: Found & { body: unknown }) {
  return changeGroup(ctx, await lockScimGroup(ctx, { tenantId, id }), parseGroup(body));
}

export async function modifyScimGroup(ctx: MutationCtx, { tenantId, id, body }: Found & { body: unknown }) {
  const group = await lockScimGroup(ctx, { tenantId, id });
  const before: GroupAttributes = {
    displayName: group.display_name,
    externalId: group.external_id,
    members: new Set(group.members.map(({ user_id }) => user_id)),
  };
  return changeGroup(ctx, group, parsePatch(body).reduce(applyOperation, before));
}

export async function deleteScimGroup(ctx: MutationCtx, { tenantId, id }: Found): Promise<undefined> {
  await removeGroup(ctx, await lockScimGroup(ctx, { tenantId, id }));
}

async function changeGroup(ctx: MutationCtx, group: ScimGroup, after: GroupAttributes): Promise<ScimGroup> {
  const { tenant_id: tenantId, id } = group;
  await requireUnusedName(ctx, { tenantId, id, displayName: after.displayName });
  // The short name stays: commands and scripts use it.
  await saveGroup(ctx, group, { display_name: after.displayName, external_id: after.externalId });
  const before = group.members.map(({ user_id }) => user_id);
  await changeGroupMembers(ctx, group, {
    add: [...after.members].filter((each) => !before.includes(each)),
    remove: before.filter((each) => !after.members.has(each)),
  });
  return getScimGroup(ctx, { tenantId, id });
}

export async function lockScimGroup(ctx: MutationCtx, { tenantId, id }: Found): Promise<ScimGroup> {
  await lockTenantGroups(ctx.db, tenantId);
  return withMembersOf(ctx, isUuid(id) ? await lockGroup(ctx.db, tenantId, id) : undefined);
}

async function withMembersOf(ctx: Pick<Ctx, 'db'>, row: CountedGroupRow | undefined): Promise<ScimGroup> {
  if (row?.source !== 'scim') throw new ScimError(404, null, 'There is no such group.');
  return { ...row, members: (await listMembersOfGroup(ctx.db, row)).rows };
}

async function requireUnusedName(
  ctx: MutationCtx,
  { tenantId, id, displayName }: { tenantId: string; id: string | null; displayName: string },
): Promise<void> {
  const where = sql`g.source = 'scim' and lower(g.display_name) = lower(${displayName})
    and g.id is distinct from ${id}::uuid`;
  const { total } = await listGroupsWhere(ctx.db, tenantId, { where }, { limit: 1, offset: 0 });
  if (total > 0) throw new ScimError(409, 'uniqueness', 'Another group has this displayName.');
}

function parseGroup(body: unknown): GroupAttributes {
  if (!isObject(body)) throw invalidValueError('The body must be an object.');
  return {
    displayName: requireDisplayName(attributeOf(body, 'displayName')),
    externalId: parseText(attributeOf(body, 'externalId'), 'externalId'),
    members: new Set(memberIds(attributeOf(body, 'members'))),
  };
}

function applyOperation(group: GroupAttributes, { op, path, value }: Operation): GroupAttributes {
  const set = op === 'remove' ? null : value;
  switch (path.attribute) {
    case 'displayname':
      if (op === 'remove') throw new ScimError(400, 'mutability', 'displayName cannot be removed.');
      return { ...group, displayName: requireDisplayName(set) };
    case 'externalid':
      return { ...group, externalId: parseText(set, 'externalId') };
    case 'members':
      return { ...group, members: patchMembers(group.members, { op, path, value }) };
    case 'id':
    case 'meta':
      throw new ScimError(400, 'mutability', `${path.attribute} cannot be changed.`);
    default:
      return group;
  }
}

function patchMembers(current: ReadonlySet<string>, { op, path, value }: Operation): Set<string> {
  const { filter } = path;
  if (op === 'remove') {
    // With neither a filter nor values, all are removed (RFC 7644 §3.5.2.2); Entra sends values.
    if (!filter && value == null) return new Set();
    const named = new Set(value == null ? [] : memberIds(value));
    return new Set(
      [...current].filter((id) => !(named.has(id) || (filter && matches({ value: id }, filter)))),
    );
  }
  const named = memberIds(value);
  return new Set(op === 'replace' && !filter ? named : [...current, ...named]);
}

function memberIds(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map((each: unknown) => {
    const id = isObject(each) ? attributeOf(each, 'value') : each;
    if (typeof id === 'string' && isUuid(id)) return id.toLowerCase();
    throw invalidValueError('A member must have the id of a user as its value.');
  });
}

function requireDisplayName(value: unknown): string {
  const name = parseText(value, 'displayName');
  if (name === null) throw invalidValueError('displayName is required.');
  return name;
}

export function groupResource(row: ScimGroup, baseUrl: string) {
  return {
    schemas: [groupSchema],
    id: row.id,
    externalId: row.external_id ?? undefined,
    displayName: row.display_name,
    members: row.members.map(({ user_id, name }) => ({
      value: user_id,
      display: name,
      $ref: `${baseUrl}/scim/v2/Users/${user_id}`,
    })),
    meta: {
      resourceType: 'Group',
      created: row.created_at.toISOString(),
      lastModified: row.updated_at.toISOString(),
      location: `${baseUrl}/scim/v2/Groups/${row.id}`,
    },
  };
}
