import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { checkedEmail, checkedName, checkedPassword, type UserRecord, userRecord } from './rules.ts';
import { insertUserRow, type UserRow } from './store.ts';

/** Without a password the user can not sign in with one; an outside provider or an issued token still works. */
export async function createUser(
  ctx: MutationCtx,
  input: { email: string; name?: string; password?: string },
): Promise<UserRecord> {
  const email = checkedEmail(input.email);
  const row: UserRow = {
    id: ctx.newId(),
    email,
    name: checkedName(input.name ?? '', email),
    password_hash:
      input.password === undefined ? null : await Bun.password.hash(checkedPassword(input.password)),
    status: 'active',
    created_at: ctx.now,
  };
  if (!(await insertUserRow(ctx.db, row))) {
    throw fail('unique_violation', {
      detail: 'A user with this e-mail address exists already.',
      errors: [{ field: 'email', code: 'unique_violation', detail: 'is in use' }],
    });
  }
  ctx.audit({
    action: 'users.create',
    target: { kind: 'user', id: row.id, name: email },
    before: null,
    after: {
      email,
      name: row.name,
      status: row.status,
      password: row.password_hash === null ? 'none' : 'set',
    },
  });
  return userRecord(row);
}
