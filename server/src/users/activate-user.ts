import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { endSignIns } from '../sessions/end-sign-ins.ts';
import { type UserRecord, userRecord } from './rules.ts';
import { lockUserRow, updateUserRow } from './store.ts';

/** The user signs in anew; nothing from before the suspension comes back but their PATs. */
export async function activateUser(ctx: MutationCtx, { userId }: { userId: string }): Promise<UserRecord> {
  const row = await lockUserRow(ctx.db, userId);
  if (!row) throw fail('not_found');
  if (row.status !== 'active') {
    await endSignIns(ctx, { userId: row.id });
    await updateUserRow(ctx.db, row.id, { status: 'active' });
  }
  ctx.audit({
    action: 'users.activate',
    target: { kind: 'user', id: row.id, name: row.email },
    before: { status: row.status },
    after: { status: 'active' },
  });
  return userRecord({ ...row, status: 'active' });
}
