import { fail, invalid } from '../plumbing/problem.ts';
import { isUuid } from '../plumbing/ref.ts';
import type { After, ListedRow } from './list-store.ts';

/** A place in a listing, not a right: what it leads to is asked for anew. Bound to its listing, so that none mixes two up. */
export function cursorFrom(listing: readonly string[], last: ListedRow | undefined): string | null {
  if (!last) return null;
  return Buffer.from(JSON.stringify([...listing, last.sort_key, last.id])).toString('base64url');
}

export function readCursor(
  listing: readonly string[],
  { cursor, page }: { cursor?: string | undefined; page?: number | undefined },
): After | undefined {
  if (cursor === undefined) return undefined;
  if (page !== undefined) throw invalid('cursor', 'stands in place of page, not beside it');
  const parts = parse(cursor);
  const [key, id] = parts.slice(listing.length);
  const isOfListing = parts.length === listing.length + 2 && listing.every((part, at) => parts[at] === part);
  if (!isOfListing || key === undefined || id === undefined || !isUuid(id) || !isKey(listing, key))
    throw fail('invalid_cursor');
  return { key, id };
}

/** What PostgreSQL could not read as the sort's type is refused before it is asked. */
function isKey([, sort]: readonly string[], key: string): boolean {
  if (sort === 'relevance') return /^\d{1,2}(\.\d{1,17})?$/.test(key);
  if (sort?.endsWith('_at')) return isTime(key);
  return !key.includes('\u0000') && key.isWellFormed();
}

/** As we write them, and a day that there is. */
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
