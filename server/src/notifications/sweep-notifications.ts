import { notificationDaysKept } from '@svc/contract/notifications.ts';
import { daysAfter } from '../plumbing/days-after.ts';
import type { Db } from '../plumbing/db.ts';
import { deleteNotificationRowsBefore } from './store.ts';

/** Nobody reads what happened a season ago here: the audit has it. */
export async function sweepNotifications(db: Db, { now }: { now: Date }): Promise<number> {
  return deleteNotificationRowsBefore(db, daysAfter(now, -notificationDaysKept));
}
