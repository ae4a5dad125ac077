import type {
  Group,
  listGroups as listShape,
  createGroup as shape,
  updateGroup as updateShape,
} from '@svc/contract/groups.shapes.ts';
import { groupsPerTenantMax } from '@svc/contract/groups.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { MutationCtx, TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { governanceTag } from '../../core/tags.ts';
import { isDeepEqual } from '../../core/values.ts';
import { publishPersonEvent } from '../person-events.ts';
import {
  type CountedGroupRow,
  countGroupRows,
  deleteGroupRow,
  findGroupRow,
  type GroupRow,
  insertGroupRow,
  listGroupRows,
  lockGroupRow,
  lockTenantGroups,
  updateGroupRow,
} from './store.ts';

type GroupRecord = z.output<typeof Group>;

export function groupRecord(row: CountedGroupRow): GroupRecord {
  return {
    ...row,
    external_id: row.external_id ?? '',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function requireLocal({ name, source }: Pick<GroupRow, 'name' | 'source'>): void {
  if (source === 'local') return;
  const by = source === 'scim' ? 'the directory (SCIM)' : 'a claim of the OpenID provider';
  throw fail('group_managed', { detail: `${name} is managed by ${by}; change its members there.` });
}

function* candidateNames(displayName: string): Generator<string> {
  const base = slugFromName(displayName) ?? slugFromName(`group ${displayName}`) ?? 'group';
  yield base;
  for (let number = 2; ; number++) yield `${base.slice(0, 57).replace(/-+$/, '')}-${number}`;
}

export async function listGroups(ctx: TenantCtx, query: z.output<typeof listShape.query>) {
  const { q } = query;
  const where =
    q === undefined
      ? sql`true`
      : sql`(strpos(g.name, lower(${q})) > 0 or strpos(lower(g.display_name), lower(${q})) > 0)`;
  const { rows, total } = await listGroupRows(ctx.db, ctx.tenant.id, { where }, pageWindow(query));
  return toPage(query, rows.map(groupRecord), total);
}

export async function getGroup(ctx: TenantCtx, { group }: { group: string }): Promise<GroupRecord> {
  return groupRecord(orNotFound(await findGroupRow(ctx.db, ctx.tenant.id, group)));
}

export async function createGroup(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  await lockTenantGroups(ctx.db, ctx.tenant.id);
  await requireUnusedName(ctx, ctx.tenant.id, input.name);
  const row = await insertGroup(ctx, {
    tenant_id: ctx.tenant.id,
    name: input.name,
    display_name: input.display_name ?? input.name,
    description: input.description,
    source: 'local',
    external_id: null,
  });
  return groupRecord(row);
}

/** A group that is named elsewhere gets a free name like its own. Caller must hold `lockTenantGroups`. */
export async function insertManagedGroup(
  ctx: MutationCtx,
  group: Pick<GroupRow, 'tenant_id' | 'display_name' | 'external_id'> & { source: 'claim' | 'scim' },
): Promise<CountedGroupRow> {
  for (const name of candidateNames(group.display_name))
    if (!(await findGroupRow(ctx.db, group.tenant_id, name)))
      return insertGroup(ctx, { ...group, name, description: '' });
  throw new Error('no free group name');
}

async function insertGroup(
  ctx: MutationCtx,
  settings: Omit<GroupRow, 'id' | 'created_at' | 'updated_at'>,
): Promise<CountedGroupRow> {
  if ((await countGroupRows(ctx.db, settings.tenant_id)) >= groupsPerTenantMax)
    throw fail('limit_reached', { detail: `A tenant has at most ${groupsPerTenantMax} groups.` });
  const row = { id: ctx.newId(), ...settings, created_at: ctx.now, updated_at: ctx.now };
  await insertGroupRow(ctx.db, row);
  ctx.audit({ action: 'groups.create', target: auditTarget(row), before: null, after: auditedFields(row) });
  return { ...row, member_count: 0 };
}

export async function updateGroup(
  ctx: TenantMutationCtx,
  input: { group: string; set: z.output<typeof updateShape.body> },
): Promise<GroupRecord & { changed?: false }> {
  await lockTenantGroups(ctx.db, ctx.tenant.id);
  const row = orNotFound(await lockGroupRow(ctx.db, ctx.tenant.id, input.group));
  requireLocal(row);
  if (input.set.name !== undefined && input.set.name !== row.name)
    await requireUnusedName(ctx, ctx.tenant.id, input.set.name);
  const { changed, ...after } = await saveGroup(ctx, row, input.set);
  return changed ? groupRecord(after) : { ...groupRecord(after), changed: false };
}

/** Caller must hold the group's lock and `lockTenantGroups`. */
export async function saveGroup(
  ctx: MutationCtx,
  row: CountedGroupRow,
  set: Partial<Pick<GroupRow, 'name' | 'display_name' | 'description' | 'external_id'>>,
): Promise<CountedGroupRow & { changed: boolean }> {
  const after = { ...row, ...set };
  ctx.audit({
    action: 'groups.update',
    target: auditTarget(row),
    before: auditedFields(row),
    after: auditedFields(after),
  });
  if (isDeepEqual(auditedFields(row), auditedFields(after))) return { ...row, changed: false };
  const { name, display_name, description, external_id } = after;
  await updateGroupRow(ctx.db, row, { name, display_name, description, external_id, updated_at: ctx.now });
  // Row filters compare with the names of groups (`@me.groups`).
  if (name !== row.name) ctx.invalidate(governanceTag(row.tenant_id));
  return { ...after, updated_at: ctx.now, changed: true };
}

export async function deleteGroup(ctx: TenantMutationCtx, { group }: { group: string }): Promise<undefined> {
  const row = orNotFound(await lockGroupRow(ctx.db, ctx.tenant.id, group));
  if (row.source !== 'local')
    ctx.warn('The identity provider manages this group and may create it again, without its grants.');
  await removeGroup(ctx, row);
}

/** Subscribers revoke what was given to the group. Caller must hold the group's lock. */
export async function removeGroup(ctx: MutationCtx, row: CountedGroupRow): Promise<void> {
  await publishPersonEvent(ctx, 'groupDeleted', {
    tenantId: row.tenant_id,
    group: { id: row.id, name: row.name },
  });
  await deleteGroupRow(ctx.db, row.tenant_id, row.id);
  ctx.invalidate(governanceTag(row.tenant_id));
  ctx.audit({
    action: 'groups.delete',
    target: auditTarget(row),
    before: { ...auditedFields(row), members: row.member_count },
    after: null,
  });
}

async function requireUnusedName(ctx: MutationCtx, tenantId: string, name: string): Promise<void> {
  if (!(await findGroupRow(ctx.db, tenantId, name))) return;
  throw fail('unique_violation', {
    detail: `A group ${name} already exists.`,
    errors: [{ field: 'name', code: 'unique_violation', detail: 'is in use' }],
  });
}

const auditedFields = ({ name, display_name, description, source, external_id }: GroupRow) => ({
  name,
  display_name,
  description,
  source,
  external_id: external_id ?? '',
});

export const auditTarget = ({ id, name }: Pick<GroupRow, 'id' | 'name'>) => ({ kind: 'group', id, name });

export {
  type CountedGroupRow,
  currentGroupIds,
  findGroupRow as findGroup,
  findGroupRows as findGroups,
  type GroupMemberRow,
  listGroupMemberRows as listMembersOfGroup,
  listGroupRows as listGroupsWhere,
  listGroupsOf,
  lockGroupForShare,
  lockGroupRow as lockGroup,
  lockTenantGroups,
} from './store.ts';
