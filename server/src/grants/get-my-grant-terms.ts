import { connectorsNamed } from '../connectors/find-connector.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { presetsNamed } from '../presets/find-preset.ts';
import { listActiveGrantRows } from './store.ts';

/** What the caller's own grants speak of by id, and nothing that no grant of theirs names. */
export async function getMyGrantTerms(ctx: TenantCtx) {
  const rows = await listActiveGrantRows(ctx.db, ctx.tenant.id, ctx.caller.userId);
  const ids = (of: 'connector_id' | 'preset_id') => [...new Set(rows.map((row) => row[of]))];
  return {
    connectors: await connectorsNamed(ctx.db, ctx.tenant.id, ids('connector_id')),
    presets: await presetsNamed(ctx.db, ctx.tenant.id, ids('preset_id')),
  };
}
