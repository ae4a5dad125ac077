import type { Tx } from '../plumbing/db.ts';
import { deleteCodesApprovedBy } from './device-store.ts';
import { deleteTokensOfUser } from './tokens-store.ts';

/** All that device flows gave for somebody, and what they approved and nobody has fetched yet. */
export async function revokeUserTokens(tx: Tx, { userId }: { userId: string }): Promise<void> {
  await deleteCodesApprovedBy(tx, userId);
  await deleteTokensOfUser(tx, userId);
}
