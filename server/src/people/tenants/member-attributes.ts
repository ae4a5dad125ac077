import { memberAttributesMax } from '@svc/contract/tenants.ts';
import type { MutationCtx, TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { orNotFound, validationError } from '../../core/problem.ts';
import { userTag } from '../../core/tags.ts';
import { isUuid } from '../../core/values.ts';
import { lockTenantAsAdmin, setMemberAsAdmin } from './members.ts';
import { type MemberRecord, memberRecord } from './rules.ts';
import { findMember, findMemberRow, lockTenantRow, saveAttributes, type TenantRole } from './store.ts';

type Attributes = Record<string, string>;

/** Empty for people who are not members. Changes invalidate `userTag(userId)`. */
export async function loadMemberAttributes(db: Db, tenantId: string, userId: string): Promise<Attributes> {
  return (await findMemberRow(db, tenantId, userId))?.attributes ?? {};
}

export async function getMember(ctx: TenantCtx, { ref }: { ref: string }): Promise<MemberRecord> {
  const member = orNotFound(await findMember(ctx.db, ctx.tenant.id, ref));
  return memberRecord(orNotFound(await findMemberRow(ctx.db, ctx.tenant.id, member.userId)));
}

interface MemberChange {
  ref: string;
  role?: TenantRole | undefined;
  attributes?: Attributes | undefined;
}

/** People who are not members are found by id only: an e-mail address would reveal whether they have an account. */
export async function updateMember(ctx: TenantMutationCtx, { ref, role, attributes }: MemberChange) {
  await lockTenantAsAdmin(ctx);
  const member = await findMember(ctx.db, ctx.tenant.id, ref);
  const userId = orNotFound(member?.userId ?? (role && isUuid(ref) ? ref : undefined));
  if (role) await setMemberAsAdmin(ctx, { userId, role });
  if (attributes) await setMemberAttributes(ctx, { tenantId: ctx.tenant.id, userId, attributes });
  const record = memberRecord(orNotFound(await findMemberRow(ctx.db, ctx.tenant.id, userId)));
  // Not in `setMemberAttributes`: attributes of claims must not make a sign-in fail.
  if (attributes && Object.keys(record.attributes).length > memberAttributesMax)
    throw validationError('attributes', `must be at most ${memberAttributesMax} of a member`);
  return record;
}

export async function setMemberAttributes(
  ctx: MutationCtx,
  { tenantId, userId, attributes }: { tenantId: string; userId: string; attributes: Attributes },
): Promise<void> {
  orNotFound(await lockTenantRow(ctx.db, tenantId));
  const member = orNotFound(await findMemberRow(ctx.db, tenantId, userId));
  const merged = Object.entries({ ...member.attributes, ...attributes });
  const after = Object.fromEntries(merged.filter(([, value]) => value !== ''));
  ctx.audit({
    action: 'members.setAttributes',
    target: { kind: 'member', id: userId, name: member.email },
    before: { attributes: member.attributes },
    after: { attributes: after },
  });
  await saveAttributes(ctx.db, { tenantId, userId, attributes: after });
  ctx.invalidate(userTag(userId));
}
