import type {
  Preset,
  createPreset as shape,
  updatePreset as updatePresetShape,
} from '@svc/contract/presets.shapes.ts';
import { builtInPresets } from '@svc/contract/presets.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { governanceTag } from '../../core/tags.ts';
import { isDeepEqual, isUuid } from '../../core/values.ts';
import { refuseWhileGranted } from '../usage.ts';

type PresetRecord = z.output<typeof Preset>;

interface PresetRow extends Omit<PresetRecord, 'built_in' | 'created_at' | 'updated_at'> {
  tenant_id: string;
  created_at: Date;
  updated_at: Date;
}
type Tables = { presets: PresetRow };

const builtInRecords: readonly PresetRecord[] = builtInPresets.map((preset) => ({
  ...preset,
  actions: [...preset.actions],
  built_in: true,
  created_at: '',
  updated_at: '',
}));

function builtInPreset(ref: string): PresetRecord | undefined {
  return builtInRecords.find((preset) => preset.id === ref);
}

async function listPresetRows(db: Db, tenantId: string): Promise<PresetRow[]> {
  return selectPresets(db, tenantId).orderBy('name').execute();
}

function findPresetRow(db: Db, tenantId: string, ref: string): Promise<PresetRow | undefined> {
  return selectByRef(db, tenantId, ref).executeTakeFirst();
}

export async function lockPresetForShare(tx: Tx, tenantId: string, ref: string): Promise<string | null> {
  const preset =
    builtInPreset(ref) ?? (await selectByRef(tx, tenantId, ref).forKeyShare().executeTakeFirst());
  return preset?.id ?? null;
}

async function insertPresetRow(tx: Tx, row: PresetRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('presets').values(row).execute();
}

async function updatePresetRow(tx: Tx, id: string, set: Partial<PresetRow>): Promise<void> {
  await tx.withTables<Tables>().updateTable('presets').set(set).where('id', '=', id).execute();
}

async function deletePresetRow(tx: Tx, id: string): Promise<void> {
  await sql`delete from svc.presets where id = ${id}`.execute(tx);
}

function presetRecord(row: PresetRow): PresetRecord {
  return {
    id: row.id,
    name: row.name,
    actions: row.actions,
    description: row.description,
    built_in: false,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function selectByRef(db: Db, tenantId: string, ref: string) {
  return selectPresets(db, tenantId).where(isUuid(ref) ? 'id' : 'name', '=', ref);
}

function selectPresets(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('presets').selectAll().where('tenant_id', '=', tenantId);
}

const auditTarget = ({ id, name }: PresetRow) => ({ kind: 'preset', id, name });
const auditedFields = ({ name, actions, description }: PresetRow) => ({ name, actions, description });

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
  return orNotFound(await selectByRef(ctx.db, ctx.tenant.id, ref).forUpdate().executeTakeFirst());
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
