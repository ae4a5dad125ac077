import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import { html } from '../../core/html.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { type Mail, type MailMessage, MailRejectedError, type MailTopic } from '../../drivers/mail/mail.ts';
import { findUser, hasPassword } from '../../people/users/users.ts';
import { saveSecret } from './tokens.ts';

export const resetMailTopic: MailTopic = 'account.reset_mail';
export const resetPath = '/login/reset';
const resetMinutes = 60;

interface ResetMailDeps {
  db: Db;
  mail: Mail | null;
  baseUrl: string;
  log: Logger;
  now: () => Date;
}

/**
 * The secret is made when the e-mail is sent, so that it is stored nowhere but in the e-mail; an attempt that is
 * repeated replaces the link. Unknown addresses are queued as well: the page that asks responds alike to all.
 */
export function mailResetLink({ db, mail, baseUrl, log, now }: ResetMailDeps): EffectHandler {
  return async (payload) => {
    const requestedAt = new Date(String(payload.at));
    if (!mail || now().getTime() - requestedAt.getTime() > resetMinutes * 60_000) return;
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
