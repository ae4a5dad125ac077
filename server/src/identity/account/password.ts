import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Ctx, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { html } from '../../core/html.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { type Mail, type MailMessage, MailRejectedError, type MailTopic } from '../../drivers/mail/mail.ts';
import {
  findUser,
  hasPassword,
  loadPasswordRules,
  setPassword,
  type UserRecord,
  verifyPassword,
} from '../../people/users/users.ts';
import { recordAttempt } from './attempts.ts';
import { recordSignInEvent, type SignInDeps } from './sign-ins.ts';
import { clearAttempts } from './store.ts';
import { findSecret, saveSecret, takeSecret } from './tokens.ts';

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

/** Waits grow per credential: a stolen one cannot make its owner wait. Must run outside the transaction, so that failures are counted. */
export async function reauthenticate(
  ctx: Ctx,
  { password, localPasswords, ...deps }: SignInDeps & { password: string; localPasswords: 'on' | 'off' },
): Promise<void> {
  const { userId, email, credentialId } = ctx.caller;
  if (localPasswords === 'off' || !(await hasPassword(ctx, { userId }))) throw fail('no_password');
  const limit = { key: `password:${sha256(`${userId} ${credentialId}`)}`, max: reauthenticationsMax };
  const seconds = await recordAttempt(ctx.db, [limit]);
  if (seconds !== null) throw fail('rate_limited', { headers: { 'retry-after': String(seconds) } });
  if (!(await checkPassword(ctx.db, { email, password }))) {
    // The owner of a stolen session sees that somebody tries passwords with it.
    const user = { id: userId, email };
    const where = { address: '', device: '', requestId: ctx.requestId };
    await recordSignInEvent(deps, { ...where, action: 'account.sign_in_failed', user, method: 'session' });
    throw fail('wrong_password');
  }
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

export const resetMailTopic: MailTopic = 'account.reset_mail';
const resetPath = '/login/reset';
const resetMinutes = 60;

interface ResetMailDeps {
  db: Db;
  mail: Mail | null;
  baseUrl: string;
  log: Logger;
  now: () => Date;
}

/** The secret is made when the e-mail is sent, and stored nowhere else. Unknown addresses are queued too: the page responds alike. */
export function mailResetLink({ db, mail, baseUrl, log, now }: ResetMailDeps): EffectHandler {
  return async (payload) => {
    if (!mail || now().getTime() - new Date(String(payload.at)).getTime() > resetMinutes * 60_000) return;
    const user = await findUser({ db }, { ref: String(payload.email) });
    if (user?.status !== 'active' || !(await hasPassword({ db }, { userId: user.id }))) return;
    const token = randomBytes(32).toString('base64url');
    const secret = { purpose: 'password_reset', secret: token, userId: user.id, data: {} } as const;
    await saveSecret(db, secret, resetMinutes * 60);
    const link = `${baseUrl}${resetPath}?token=${token}`;
    const to = { name: user.name, address: user.email };
    try {
      await mail.send(resetMessage({ id: Bun.randomUUIDv7(), to, link, at: now(), baseUrl }));
    } catch (error) {
      if (!(error instanceof MailRejectedError)) throw error;
      log.warn({ user: user.id, err: error }, 'e-mail rejected by the mail server');
    }
  };
}

function resetMessage(
  view: Pick<MailMessage, 'id' | 'to' | 'at'> & { link: string; baseUrl: string },
): MailMessage {
  const { id, to, at, link } = view;
  const { host } = new URL(view.baseUrl);
  const subject = `Set a new password for ${host}`;
  const why = `Somebody asked to set a new password for your account at ${host}. Open this link to choose one. It works once, for ${resetMinutes} minutes.`;
  const otherwise = 'If it was not you, ignore this e-mail: your password is unchanged.';
  return {
    id,
    to,
    at,
    subject,
    text: `${why}\n\n${link}\n\n${otherwise}\n`,
    html: html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${subject}</title></head>
<body style="font-family:sans-serif;line-height:1.5"><p>${why}</p>
<p><a href="${link}">Set a new password</a></p>
<p>${otherwise}</p>
</body></html>
`.toString(),
  };
}
