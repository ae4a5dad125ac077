import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { builtInRecords, listPresetRows, presetRecord } from './store.ts';

/** The built-in ones have no rows, so the page is cut here; a tenant has few presets. */
export async function listPresets(ctx: TenantCtx, query: PageQuery) {
  const all = [...builtInRecords, ...(await listPresetRows(ctx.db, ctx.tenant.id)).map(presetRecord)];
  return pageOf(query, all);
}
