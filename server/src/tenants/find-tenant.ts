import type { Ctx } from '../plumbing/context.ts';
import { isTenantRef, type TenantRecord, tenantRecord } from './rules.ts';
import { findTenantRow } from './store.ts';

/** By id or slug, whoever asks: for the operator. */
export async function findTenant(
  ctx: Pick<Ctx, 'db'>,
  { ref }: { ref: string },
): Promise<TenantRecord | null> {
  const row = isTenantRef(ref) ? await findTenantRow(ctx.db, ref) : undefined;
  return row ? tenantRecord(row) : null;
}
