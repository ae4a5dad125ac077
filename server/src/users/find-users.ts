import type { Ctx } from '../plumbing/context.ts';
import { type UserRecord, userRecord } from './rules.ts';
import { findUserRows } from './store.ts';

/** For other slices: who is behind the ids; whoever is not there is left out. */
export async function findUsers(
  ctx: Pick<Ctx, 'db'>,
  { ids }: { ids: readonly string[] },
): Promise<ReadonlyMap<string, UserRecord>> {
  const rows = ids.length === 0 ? [] : await findUserRows(ctx.db, ids);
  return new Map(rows.map((row) => [row.id, userRecord(row)]));
}
