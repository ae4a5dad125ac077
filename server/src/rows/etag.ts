import { sha256 } from '../plumbing/canonical.ts';
import type { ParsedQuery } from './query-syntax.ts';
import type { RowTable } from './row-table.ts';

/** Of a row: its version, and the shape in which it is shown, since that can change while the row does not. */
export function rowEtag(table: RowTable, version: string, select: ParsedQuery['select'] = null): string {
  const shape = select === null ? '' : `.${sha256(JSON.stringify(select)).slice(0, 8)}`;
  return `"${version}.${table.catalogue.version}${shape}"`;
}

/**
 * The row versions that an If-Match allows: a change minds the row, not how it was shown. Null where any will do; empty
 * where none can: a weak tag, or one that is not ours.
 */
export function demandedVersions(ifMatch: string | null): readonly string[] | null {
  if (ifMatch === null || ifMatch.trim() === '*') return null;
  return ifMatch.split(',').flatMap((tag) => {
    const version = /^"(\d{1,18})\.[\w.]+"$/.exec(tag.trim())?.[1];
    return version === undefined ? [] : [version];
  });
}

export function isNotModified(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(',').some((tag) => {
    const plain = tag.trim().replace(/^W\//, '');
    return plain === '*' || plain === etag;
  });
}
