import { CompiledQuery } from 'kysely';
import { credentialTag } from '../identity/tags.ts';
import type { Db } from '../plumbing/db.ts';
import { notifySql } from '../plumbing/invalidation.ts';
import { deleteVisitRow } from './store.ts';

/** Ends a visit at its own host, in every copy of the server. */
export async function endVisit(
  { db, onCommitted }: { db: Db; onCommitted?: ((tag: string) => void) | undefined },
  visit: { tokenHash: string; host: string },
): Promise<void> {
  const tag = credentialTag(visit.tokenHash);
  const isEnded = await db.transaction().execute(async (tx) => {
    if (!(await deleteVisitRow(tx, visit))) return false;
    await tx.executeQuery(CompiledQuery.raw(notifySql, [tag]));
    return true;
  });
  if (isEnded) onCommitted?.(tag);
}
