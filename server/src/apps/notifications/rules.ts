import {
  type NotificationKind,
  notificationMailHoursMax,
  notificationTextCharsMax,
  notificationTitleCharsMax,
} from '@svc/contract/notifications.ts';
import type { MailTopic } from '../../drivers/mail/mail.ts';

/** Names may contain line breaks and control characters; a title is one line. */
export function cutTitle(title: string): string {
  return cut(title.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), notificationTitleCharsMax);
}

export function cutText(text: string): string {
  return cut(text.replaceAll('\0', ''), notificationTextCharsMax);
}

export function appendMessage(text: string, words: string): string {
  return words === '' ? text : `${text}\n\n${words}`;
}

/** A removed member is notified of the removal only. */
export function isSentToFormerMembers(kind: NotificationKind): boolean {
  return kind === 'role_changed';
}

export function isTooOldToMail({ created_at }: { created_at: Date }, now: Date): boolean {
  return now.getTime() - created_at.getTime() >= notificationMailHoursMax * 3_600_000;
}

function cut(text: string, charsMax: number): string {
  const chars = [...text];
  return chars.length <= charsMax ? text : `${chars.slice(0, charsMax - 1).join('')}…`;
}

export const mailTopic: MailTopic = 'notifications.mail';
