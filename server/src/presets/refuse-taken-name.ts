import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { builtInPreset, findPresetRow } from './store.ts';

export async function refuseTakenName(ctx: TenantMutationCtx, name: string): Promise<void> {
  if (builtInPreset(name) || (await findPresetRow(ctx.db, ctx.tenant.id, name))) {
    throw fail('unique_violation', { detail: `A preset ${name} exists already.` });
  }
}
