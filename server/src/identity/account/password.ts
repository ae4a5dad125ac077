import type { Ctx, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { UserRecord } from '../../people/users/rules.ts';
import {
  findUser,
  hasPassword,
  loadPasswordRules,
  setPassword,
  verifyPassword,
} from '../../people/users/users.ts';
import { recordAttempt } from './attempts.ts';
import { clearAttempts } from './store.ts';
import { findSecret, takeSecret } from './tokens.ts';

/** Each verification uses 64 MiB: further ones are queued. */
const concurrentMax = 4;
let running = 0;
const waiting: (() => void)[] = [];

export async function checkPassword(
  db: Db,
  input: { email: string; password: string },
): Promise<UserRecord | null> {
  if (running < concurrentMax) running++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await verifyPassword({ db }, input);
  } finally {
    // The slot passes directly to the next in the queue.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

/** More than for a sign-in: commands and pages preview a change before they make it. */
export const reauthenticationsMax = 10;

/**
 * Proves that the caller knows the password. Waits grow per credential, so that a stolen one cannot make its owner
 * wait. Must run outside the transaction: a failure is counted even though nothing else is written.
 */
export async function reauthenticate(
  ctx: Ctx,
  { password, localPasswords }: { password: string; localPasswords: 'on' | 'off' },
): Promise<void> {
  const { userId, email, credentialId } = ctx.caller;
  if (localPasswords === 'off' || !(await hasPassword(ctx, { userId }))) throw fail('no_password');
  const limit = { key: `password:${sha256(`${userId} ${credentialId}`)}`, max: reauthenticationsMax };
  const seconds = await recordAttempt(ctx.db, [limit]);
  if (seconds !== null) throw fail('rate_limited', { headers: { 'retry-after': String(seconds) } });
  if (!(await checkPassword(ctx.db, { email, password }))) throw fail('wrong_password');
  await clearAttempts(ctx.db, limit);
}

/** Outside the transaction of `changePassword`. */
export async function prepareChange(ctx: Ctx, input: Parameters<typeof reauthenticate>[1]): Promise<void> {
  await reauthenticate(ctx, input);
  await loadPasswordRules();
}

/** The session that changes the password stays signed in. */
export async function changePassword(ctx: MutationCtx, { password }: { password: string }): Promise<void> {
  const { userId, credentialId } = ctx.caller;
  await setPassword(ctx, { userId, password, keep: credentialId });
}

export async function findResetUser(db: Db, { token }: { token: string }): Promise<UserRecord | null> {
  const found = await findSecret(db, { purpose: 'password_reset', secret: token });
  return found?.userId ? findUser({ db }, { ref: found.userId }) : null;
}

/** Null when the link was used, has expired or never existed. */
export async function resetPassword(
  ctx: MutationCtx,
  { token, password }: { token: string; password: string },
): Promise<UserRecord | null> {
  const found = await takeSecret(ctx.db, { purpose: 'password_reset', secret: token });
  const user = found?.userId ? await findUser(ctx, { ref: found.userId }) : null;
  if (user?.status !== 'active') return null;
  await setPassword(ctx, { userId: user.id, password });
  return user;
}
