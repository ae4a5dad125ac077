import type {
  createPreset as shape,
  updatePreset as updatePresetShape,
} from '@svc/contract/presets.shapes.ts';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { governanceTag } from '../../core/tags.ts';
import { isDeepEqual } from '../../core/values.ts';
import { refuseWhileGranted } from '../usage.ts';
import {
  builtInPreset,
  builtInRecords,
  deletePresetRow,
  findPresetRow,
  insertPresetRow,
  listPresetRows,
  lockPresetRow,
  type PresetRow,
  presetRecord,
  updatePresetRow,
} from './store.ts';

export { lockPresetForShare } from './store.ts';

const auditTarget = ({ id, name }: PresetRow) => ({ kind: 'preset', id, name });
const auditedFields = ({ name, actions, description }: PresetRow) => ({ name, actions, description });

/** Built-in presets have no rows, so the page is cut here. */
export async function listPresets(ctx: TenantCtx, query: PageQuery) {
  const all = [...builtInRecords, ...(await listPresetRows(ctx.db, ctx.tenant.id)).map(presetRecord)];
  return paginate(query, all);
}

export async function getPreset(ctx: TenantCtx, input: { preset: string }) {
  const builtIn = builtInPreset(input.preset);
  return builtIn ?? presetRecord(orNotFound(await findPresetRow(ctx.db, ctx.tenant.id, input.preset)));
}

export async function createPreset(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  await requireUnusedName(ctx, input.name);
  const row: PresetRow = {
    ...input,
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertPresetRow(ctx.db, row);
  ctx.audit({ action: 'presets.create', target: auditTarget(row), before: null, after: { ...input } });
  return presetRecord(row);
}

export async function updatePreset(
  ctx: TenantMutationCtx,
  input: { preset: string; set: z.output<typeof updatePresetShape.body> },
) {
  const row = await lockPreset(ctx, input.preset);
  if (input.set.name !== undefined && input.set.name !== row.name)
    await requireUnusedName(ctx, input.set.name);
  const before = auditedFields(row);
  const after = {
    name: input.set.name ?? row.name,
    actions: input.set.actions ?? row.actions,
    description: input.set.description ?? row.description,
  };
  ctx.audit({ action: 'presets.update', target: auditTarget(row), before, after });
  if (isDeepEqual(before, after)) return presetRecord(row);
  await updatePresetRow(ctx.db, row.id, { ...after, updated_at: ctx.now });
  ctx.invalidate(governanceTag(ctx.tenant.id));
  return presetRecord({ ...row, ...after, updated_at: ctx.now });
}

export async function deletePreset(ctx: TenantMutationCtx, input: { preset: string }): Promise<undefined> {
  const row = await lockPreset(ctx, input.preset);
  await refuseWhileGranted(ctx, 'preset', row.id);
  await deletePresetRow(ctx.db, row.id);
  ctx.audit({ action: 'presets.delete', target: auditTarget(row), before: auditedFields(row), after: null });
}

async function lockPreset(ctx: TenantMutationCtx, ref: string): Promise<PresetRow> {
  if (builtInPreset(ref)) throw fail('preset_built_in');
  return orNotFound(await lockPresetRow(ctx.db, ctx.tenant.id, ref));
}

export async function actionsByPreset(db: Db, tenantId: string): Promise<Map<string, readonly string[]>> {
  const rows = await listPresetRows(db, tenantId);
  return new Map([...builtInRecords, ...rows].map((preset) => [preset.id, preset.actions]));
}

export async function listPresetTerms(db: Db, tenantId: string) {
  const rows = await listPresetRows(db, tenantId);
  return [...builtInRecords, ...rows].map(({ id, name, actions, description }) => ({
    id,
    name,
    actions,
    description,
  }));
}

export async function describePresets(db: Db, tenantId: string, ids: readonly string[]) {
  return (await listPresetTerms(db, tenantId)).filter(({ id }) => ids.includes(id));
}

async function requireUnusedName(ctx: TenantMutationCtx, name: string): Promise<void> {
  if (builtInPreset(name) || (await findPresetRow(ctx.db, ctx.tenant.id, name)))
    throw fail('unique_violation', { detail: `A preset ${name} already exists.` });
}
