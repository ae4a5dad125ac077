import { fail } from '../plumbing/problem.ts';

/**
 * Where a page ended. Not signed: whoever may list sees every key anyway, and one that is made up finds no more than
 * that. Bound to its listing, so that a mistake is told.
 */
export interface Listing {
  prefix: string;
  delimiter: string;
}

export function writeCursor({ prefix, delimiter }: Listing, after: string): string {
  return Buffer.from(JSON.stringify([prefix, delimiter, after])).toString('base64url');
}

export function readCursor(cursor: string, { prefix, delimiter }: Listing): string {
  const [ofPrefix, ofDelimiter, after] = parts(cursor);
  const fits = ofPrefix === prefix && ofDelimiter === delimiter;
  // PostgreSQL takes neither a NUL nor half a character.
  if (!fits || typeof after !== 'string' || after.includes('\u0000') || !after.isWellFormed())
    throw fail('invalid_cursor');
  return after;
}

function parts(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
