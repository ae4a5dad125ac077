import type { TenantAccess } from '../plumbing/context.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';

type Tables = {
  memberships: { tenant_id: string; user_id: string; role: TenantAccess['role'] };
  users: { id: string; email: string; name: string; status: string };
};

/** A member of the tenant by user id or e-mail address; null also for a user who is not a member. */
export async function findMember(
  db: Db,
  tenantId: string,
  ref: string,
): Promise<{ userId: string; email: string; status: string; role: TenantAccess['role'] } | null> {
  const row = await db
    .withTables<Tables>()
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select(['users.id', 'users.email', 'users.status', 'memberships.role'])
    .where('memberships.tenant_id', '=', tenantId)
    .where((where) =>
      isUuid(ref)
        ? where('users.id', '=', ref)
        : where(where.fn<string>('lower', ['users.email']), '=', ref.toLowerCase()),
    )
    .executeTakeFirst();
  return row ? { userId: row.id, email: row.email, status: row.status, role: row.role } : null;
}

/** The same, and a member until this transaction ends: for what must not outlast the membership. */
export async function holdMember(tx: Tx, tenantId: string, ref: string): ReturnType<typeof findMember> {
  const member = await findMember(tx, tenantId, ref);
  if (!member) return null;
  const held = await tx
    .withTables<Tables>()
    .selectFrom('memberships')
    .select('user_id')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', member.userId)
    .forKeyShare()
    .executeTakeFirst();
  return held ? member : null;
}
