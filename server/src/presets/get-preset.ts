import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { builtInPreset, findPresetRow, presetRecord } from './store.ts';

export async function getPreset(ctx: TenantCtx, input: { preset: string }) {
  const builtIn = builtInPreset(input.preset);
  if (builtIn) return builtIn;
  const row = await findPresetRow(ctx.db, ctx.tenant.id, input.preset);
  if (!row) throw fail('not_found');
  return presetRecord(row);
}
