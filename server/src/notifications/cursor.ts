import { fail } from '../plumbing/problem.ts';
import { isUuid } from '../plumbing/ref.ts';
import type { Before, NotificationRow } from './store.ts';

/** A place in the caller's own list, not a right: whose list it is, is asked anew. */
export function cursorFrom({ created_at, id }: Pick<NotificationRow, 'created_at' | 'id'>): string {
  return Buffer.from(`${created_at.getTime()} ${id}`).toString('base64url');
}

export function readCursor(cursor: string): Before {
  const [, time, id] = /^(\d{1,14}) (.+)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (id === undefined || !isUuid(id)) throw fail('invalid_cursor');
  return { at: new Date(Number(time)), id };
}
