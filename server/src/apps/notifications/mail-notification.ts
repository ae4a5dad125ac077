import { notificationMailHoursMax } from '@svc/contract/notifications.ts';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import { html } from '../../core/html.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { type Mail, type MailMessage, MailRejectedError } from '../../drivers/mail/mail.ts';
import { findUser } from '../../people/users/users.ts';
import { filterRecipients, isTooOldToMail } from './notifications.ts';
import { findNotificationRow, type NotificationRow } from './store.ts';

interface MailDeps {
  db: Db;
  mail: Mail | null;
  baseUrl: string;
  log: Logger;
  now: () => Date;
}

/** Mail is sent one by one. After a failure, sending pauses for this multiple of the time that the failure took. */
const pauseFactor = 4;

export function mailNotification({ db, mail, baseUrl, log, now }: MailDeps): EffectHandler {
  let pausedUntil = 0;
  return async (payload) => {
    if (!mail) return;
    const [tenantId, id] = [String(payload.tenantId), String(payload.notificationId)];
    const row = await findNotificationRow(db, tenantId, id);
    if (!row) return;
    const fields = { tenant: tenantId, notification: id, kind: row.kind };
    if (isTooOldToMail(row, now())) {
      const hours = notificationMailHoursMax;
      return log.error({ ...fields, hours }, 'e-mail expired before it could be sent');
    }
    // Checked again when sending: the recipient may have been suspended or removed meanwhile.
    const [recipient] = await filterRecipients(db, row, [row.user_id]);
    const person = recipient === undefined ? null : await findUser({ db }, { ref: recipient });
    if (!person) return;
    if (now().getTime() < pausedUntil) throw new Error('The mail server did not respond; sending is paused.');
    const startedAt = now().getTime();
    try {
      await mail.send(mailMessage(row, { to: { name: person.name, address: person.email }, baseUrl }));
    } catch (error) {
      if (error instanceof MailRejectedError)
        return log.warn({ ...fields, err: error }, 'e-mail rejected by the mail server');
      const failedAt = now().getTime();
      pausedUntil = failedAt + (failedAt - startedAt) * pauseFactor;
      throw error;
    }
  };
}

function mailMessage(
  { id, title, text, path, created_at }: NotificationRow,
  { to, baseUrl }: { to: MailMessage['to']; baseUrl: string },
): MailMessage {
  const link = `${baseUrl}${path}`;
  const sender = `You receive this e-mail because you have an account at ${new URL(baseUrl).host}.`;
  const paragraphs = text.split(/\n{2,}/).map((part) => html`<p style="white-space:pre-line">${part}</p>`);
  return {
    id,
    to,
    subject: title,
    at: created_at,
    text: `${text}\n\n${link}\n\n-- \n${sender}\n`,
    html: html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
<body style="font-family:sans-serif;line-height:1.5"><h1 style="font-size:1.2em">${title}</h1>
${paragraphs}
<p><a href="${link}">Open in the console</a></p>
<p style="color:#666666">${sender}</p>
</body></html>
`.toString(),
  };
}
