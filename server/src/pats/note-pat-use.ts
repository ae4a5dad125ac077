import type { Logger } from 'pino';
import type { Db } from '../plumbing/db.ts';
import type { PatCredential } from './find-pat-by-hash.ts';
import { markUsed } from './store.ts';

/** Keeps `last_used_at` true to the minute. The request that causes the note does not wait for it. */
export function createNotePatUse(parts: {
  db: Db;
  now: () => Date;
  log: Logger;
}): (pat: Pick<PatCredential, 'id' | 'tenantId'>) => void {
  const notedAt = new Map<string, number>();
  return ({ id, tenantId }) => {
    const at = parts.now();
    if (at.getTime() - (notedAt.get(id) ?? 0) < betweenNotesMs) return;
    // Forgetting costs a statement that changes nothing, so the bound need not be clever.
    if (notedAt.size >= notedMax) notedAt.clear();
    notedAt.set(id, at.getTime());
    const ifBefore = new Date(at.getTime() - betweenNotesMs);
    markUsed(parts.db, tenantId, id, { at, ifBefore }).catch((error: unknown) => {
      parts.log.warn({ err: error, pat: id }, 'the last use of a token was not noted');
    });
  };
}

const betweenNotesMs = 60_000;
const notedMax = 10_000;
