import type { Ctx } from '../plumbing/context.ts';
import { findPatRowByHash, type PatRow } from './store.ts';

/** What a personal access token is good for, before it is cut down to what its issuer may do at this moment. */
export interface PatCredential {
  id: string;
  tenantId: string;
  userId: string;
  actions: PatRow['actions'];
  /** App ids; empty means every app of the issuer. */
  apps: readonly string[];
  expiresAt: Date;
}

/** By the SHA-256 of the secret; null when unknown or revoked. Expiry is the user's of the answer to check. */
export async function findPatByHash(
  ctx: Pick<Ctx, 'db'>,
  { hash }: { hash: string },
): Promise<PatCredential | null> {
  const row = await findPatRowByHash(ctx.db, hash);
  if (!row) return null;
  const { id, tenant_id, user_id, actions, apps, expires_at } = row;
  return { id, tenantId: tenant_id, userId: user_id, actions, apps, expiresAt: expires_at };
}
