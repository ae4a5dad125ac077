import type { Preset } from '@svc/contract/presets.shapes.ts';
import { builtInPresets } from '@svc/contract/presets.ts';
import type { z } from 'zod';
import type { Db, Tx } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';

export interface PresetRow {
  id: string;
  tenant_id: string;
  name: string;
  actions: string[];
  description: string;
  created_at: Date;
  updated_at: Date;
}
type Tables = { presets: PresetRow };
export type PresetRecord = z.output<typeof Preset>;

export const builtInRecords: readonly PresetRecord[] = builtInPresets.map((preset) => ({
  ...preset,
  actions: [...preset.actions],
  built_in: true,
  created_at: '',
  updated_at: '',
}));

export function builtInPreset(ref: string): PresetRecord | undefined {
  return builtInRecords.find((preset) => preset.id === ref);
}

export async function listPresetRows(db: Db, tenantId: string): Promise<PresetRow[]> {
  return ofTenant(db, tenantId).orderBy('name').execute();
}

export function findPresetRow(db: Db, tenantId: string, ref: string): Promise<PresetRow | undefined> {
  return byRef(db, tenantId, ref).executeTakeFirst();
}

export function lockPresetRow(tx: Tx, tenantId: string, ref: string): Promise<PresetRow | undefined> {
  return byRef(tx, tenantId, ref).forUpdate().executeTakeFirst();
}

export function holdPresetRow(tx: Tx, tenantId: string, ref: string): Promise<PresetRow | undefined> {
  return byRef(tx, tenantId, ref).forKeyShare().executeTakeFirst();
}

export async function insertPresetRow(tx: Tx, row: PresetRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('presets').values(row).execute();
}

export async function updatePresetRow(
  tx: Tx,
  tenantId: string,
  id: string,
  set: Pick<PresetRow, 'name' | 'actions' | 'description' | 'updated_at'>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('presets')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export async function deletePresetRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('presets')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export function presetRecord(row: PresetRow): PresetRecord {
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

function byRef(db: Db, tenantId: string, ref: string) {
  return ofTenant(db, tenantId).where(isUuid(ref) ? 'id' : 'name', '=', ref);
}

function ofTenant(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('presets').selectAll().where('tenant_id', '=', tenantId);
}
