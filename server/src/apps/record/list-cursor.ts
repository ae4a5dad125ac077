import { fail, validationError } from '../../core/problem.ts';
import { isUuid } from '../../core/values.ts';
import type { CursorPosition, ListedRow } from './list-store.ts';

/**
 * Bound to its listing, so that cursors of different listings cannot be mixed. Not an authorization: rows are
 * filtered on each page.
 */
export function formatCursor(listing: readonly string[], last: ListedRow | undefined): string | null {
  if (!last) return null;
  return Buffer.from(JSON.stringify([...listing, last.sort_key, last.id])).toString('base64url');
}

export function readCursor(
  listing: readonly string[],
  { cursor, page }: { cursor?: string; page?: number },
): CursorPosition | undefined {
  if (cursor === undefined) return undefined;
  if (page !== undefined) throw validationError('cursor', 'cannot be combined with page');
  const parts = parse(cursor);
  const [key, id] = parts.slice(listing.length);
  const isSameListing =
    parts.length === listing.length + 2 && listing.every((part, at) => parts[at] === part);
  if (!isSameListing || key === undefined || id === undefined || !isUuid(id) || !isSortKey(listing, key))
    throw fail('invalid_cursor');
  return { key, id };
}

/** Rejects keys that PostgreSQL could not parse as the sort's type. */
function isSortKey([, sort]: readonly string[], key: string): boolean {
  if (sort === 'relevance') return /^\d{1,2}(\.\d{1,17})?$/.test(key);
  if (sort?.endsWith('_at')) return isTime(key);
  return !key.includes('\u0000') && key.isWellFormed();
}

/** The exact format that cursors contain, and a valid date. */
function isTime(key: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(key) || key.startsWith('0000')) return false;
  const seconds = `${key.slice(0, 19)}.000Z`;
  const time = new Date(seconds);
  return !Number.isNaN(time.getTime()) && time.toISOString() === seconds;
}

function parse(cursor: string): string[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(value) && value.every((part) => typeof part === 'string') ? value : [];
  } catch {
    return [];
  }
}
