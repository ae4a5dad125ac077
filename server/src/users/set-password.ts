import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { endSignIns } from '../sessions/end-sign-ins.ts';
import { checkedPassword } from './rules.ts';
import { lockUserRow, updateUserRow } from './store.ts';

/** Ends every sign-in: a new password is also the answer to one that was found out. */
export async function setPassword(
  ctx: MutationCtx,
  { userId, password }: { userId: string; password: string },
): Promise<void> {
  const hash = await Bun.password.hash(checkedPassword(password));
  const row = await lockUserRow(ctx.db, userId);
  if (!row) throw fail('not_found');
  await updateUserRow(ctx.db, row.id, { password_hash: hash });
  await endSignIns(ctx, { userId: row.id });
  ctx.audit({
    action: 'users.set_password',
    target: { kind: 'user', id: row.id, name: row.email },
    before: { password: row.password_hash === null ? 'none' : 'set' },
    after: { password: 'changed' },
  });
}
