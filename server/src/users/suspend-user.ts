import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { endSignIns } from '../sessions/end-sign-ins.ts';
import { type UserRecord, userRecord } from './rules.ts';
import { lockUserRow, updateUserRow } from './store.ts';

/** Ends every sign-in. PATs are kept, and do nothing while their issuer is suspended. */
export async function suspendUser(ctx: MutationCtx, { userId }: { userId: string }): Promise<UserRecord> {
  const row = await lockUserRow(ctx.db, userId);
  if (!row) throw fail('not_found');
  // Also for one who is suspended already: a sign-in that was under way then may have been completed since.
  await endSignIns(ctx, { userId: row.id });
  if (row.status !== 'suspended') await updateUserRow(ctx.db, row.id, { status: 'suspended' });
  ctx.audit({
    action: 'users.suspend',
    target: { kind: 'user', id: row.id, name: row.email },
    before: { status: row.status },
    after: { status: 'suspended' },
  });
  return userRecord({ ...row, status: 'suspended' });
}
