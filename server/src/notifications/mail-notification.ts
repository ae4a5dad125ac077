import { notificationMailHoursMax } from '@svc/contract/notifications.ts';
import type { Logger } from 'pino';
import { type Mail, MailRefused } from '../drivers/mail/mail.ts';
import type { Db } from '../plumbing/db.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { findUser } from '../users/find-user.ts';
import { mailMessage } from './mail-message.ts';
import { readersAmong } from './readers-among.ts';
import { isTooLate } from './rules.ts';
import { findNotificationRow } from './store.ts';

export interface MailParts {
  db: Db;
  /** Null: no e-mail is sent. */
  mail: Mail | null;
  baseUrl: string;
  log: Logger;
  now: () => Date;
}

/**
 * E-mails are sent one after the other: those behind do not each wait for a server that does not answer. It is left
 * alone for so many times as long as it took to fail.
 */
const pauseTimes = 4;

/** One e-mail to one person. What can not be sent now is tried again by the outbox, until it is no news any more. */
export function mailNotification({ db, mail, baseUrl, log, now }: MailParts): Effect {
  let pausedUntil = 0;
  return async (payload) => {
    if (!mail) return;
    const [tenantId, id] = [String(payload.tenantId), String(payload.notificationId)];
    const row = await findNotificationRow(db, tenantId, id);
    if (!row) return;
    const about = { tenant: tenantId, notification: id, kind: row.kind };
    if (isTooLate(row, now())) {
      const hours = notificationMailHoursMax;
      return log.error({ ...about, hours }, 'an e-mail could not be sent, and is given up');
    }
    // Asked now, not when it happened: who was suspended or has left since hears nothing more.
    const [reader] = await readersAmong(db, row, [row.user_id]);
    const person = reader === undefined ? null : await findUser({ db }, { ref: reader });
    if (!person) return;
    if (now().getTime() < pausedUntil) throw new Error('The mail server did not answer a moment ago.');
    const begun = now().getTime();
    try {
      await mail.send(mailMessage(row, { to: { name: person.name, address: person.email }, baseUrl }));
    } catch (error) {
      if (error instanceof MailRefused)
        return log.warn({ ...about, err: error }, 'an e-mail was refused, and is given up');
      const ended = now().getTime();
      pausedUntil = ended + (ended - begun) * pauseTimes;
      throw error;
    }
  };
}
