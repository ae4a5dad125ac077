import type { updatePreset as shape } from '@svc/contract/presets.shapes.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { refuseTakenName } from './refuse-taken-name.ts';
import { builtInPreset, lockPresetRow, presetRecord, updatePresetRow } from './store.ts';

export async function updatePreset(
  ctx: TenantMutationCtx,
  input: { preset: string; set: z.output<typeof shape.body> },
) {
  if (builtInPreset(input.preset)) throw fail('preset_built_in');
  const row = await lockPresetRow(ctx.db, ctx.tenant.id, input.preset);
  if (!row) throw fail('not_found');
  if (input.set.name !== undefined && input.set.name !== row.name) await refuseTakenName(ctx, input.set.name);
  const before = { name: row.name, actions: row.actions, description: row.description };
  const after = {
    name: input.set.name ?? row.name,
    actions: input.set.actions ?? row.actions,
    description: input.set.description ?? row.description,
  };
  ctx.audit({
    action: 'presets.update',
    target: { kind: 'preset', id: row.id, name: row.name },
    before,
    after,
  });
  if (isSame(before, after)) return presetRecord(row);
  await updatePresetRow(ctx.db, ctx.tenant.id, row.id, { ...after, updated_at: ctx.now });
  return presetRecord({ ...row, ...after, updated_at: ctx.now });
}
