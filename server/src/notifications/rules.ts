import {
  type NotificationKind,
  notificationMailHoursMax,
  notificationTextCharsMax,
  notificationTitleCharsMax,
} from '@svc/contract/notifications.ts';

/** Names that people give may hold line breaks and other controls: a title is one line, whatever is in it. */
export function cutTitle(title: string): string {
  return cut(title.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), notificationTitleCharsMax);
}

export function cutText(text: string): string {
  return cut(text.replaceAll('\0', ''), notificationTextCharsMax);
}

/** What somebody says of it, below what happened. */
export function withWords(text: string, words: string): string {
  return words === '' ? text : `${text}\n\n${words}`;
}

/** Who is taken out of a tenant hears of that, and of nothing else there. */
export function isForFormerMembers(kind: NotificationKind): boolean {
  return kind === 'role_changed';
}

export function isTooLate({ created_at }: { created_at: Date }, now: Date): boolean {
  return now.getTime() - created_at.getTime() >= notificationMailHoursMax * 3_600_000;
}

function cut(text: string, charsMax: number): string {
  const chars = [...text];
  return chars.length <= charsMax ? text : `${chars.slice(0, charsMax - 1).join('')}…`;
}
