import type { createPreset as shape } from '@svc/contract/presets.shapes.ts';
import type { z } from 'zod';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { refuseTakenName } from './refuse-taken-name.ts';
import { insertPresetRow, type PresetRow, presetRecord } from './store.ts';

export async function createPreset(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  await refuseTakenName(ctx, input.name);
  const row: PresetRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    name: input.name,
    actions: input.actions,
    description: input.description,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertPresetRow(ctx.db, row);
  ctx.audit({
    action: 'presets.create',
    target: { kind: 'preset', id: row.id, name: row.name },
    before: null,
    after: { ...input },
  });
  return presetRecord(row);
}
