import { activeGrantIds } from '../grants/active-grant-ids.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { builtInPreset, deletePresetRow, lockPresetRow } from './store.ts';

export async function deletePreset(ctx: TenantMutationCtx, input: { preset: string }): Promise<undefined> {
  if (builtInPreset(input.preset)) throw fail('preset_built_in');
  const row = await lockPresetRow(ctx.db, ctx.tenant.id, input.preset);
  if (!row) throw fail('not_found');
  const grantIds = await activeGrantIds(ctx.db, ctx.tenant.id, { presetId: row.id });
  if (grantIds.length > 0)
    throw fail('preset_in_use', { detail: `Active grants use it: ${grantIds.join(', ')}.` });
  await deletePresetRow(ctx.db, ctx.tenant.id, row.id);
  ctx.audit({
    action: 'presets.delete',
    target: { kind: 'preset', id: row.id, name: row.name },
    before: { name: row.name, actions: row.actions, description: row.description },
    after: null,
  });
}
