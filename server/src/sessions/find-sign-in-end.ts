import type { Ctx } from '../plumbing/context.ts';
import { findSignInRow } from './store.ts';

/** When a sign-in ends of itself, for what rests on it; null when it has ended, or is not the person's. */
export async function findSignInEnd(
  ctx: Pick<Ctx, 'db'>,
  { userId, credentialId }: { userId: string; credentialId: string },
): Promise<Date | null> {
  const row = await findSignInRow(ctx.db, userId, credentialId);
  return row?.expires_at ?? null;
}
