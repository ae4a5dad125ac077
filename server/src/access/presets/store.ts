import type { Preset } from '@svc/contract/presets.shapes.ts';
import { builtInPresets } from '@svc/contract/presets.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { isUuid } from '../../core/values.ts';

type PresetRecord = z.output<typeof Preset>;

export interface PresetRow extends Omit<PresetRecord, 'built_in' | 'created_at' | 'updated_at'> {
  tenant_id: string;
  created_at: Date;
  updated_at: Date;
}
type Tables = { presets: PresetRow };

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
  return selectPresets(db, tenantId).orderBy('name').execute();
}

export function findPresetRow(db: Db, tenantId: string, ref: string): Promise<PresetRow | undefined> {
  return selectByRef(db, tenantId, ref).executeTakeFirst();
}

export function lockPresetRow(tx: Tx, tenantId: string, ref: string): Promise<PresetRow | undefined> {
  return selectByRef(tx, tenantId, ref).forUpdate().executeTakeFirst();
}

/** The preset cannot be deleted before the transaction ends. */
export async function lockPresetForShare(tx: Tx, tenantId: string, ref: string): Promise<string | null> {
  const preset =
    builtInPreset(ref) ?? (await selectByRef(tx, tenantId, ref).forKeyShare().executeTakeFirst());
  return preset?.id ?? null;
}

export async function insertPresetRow(tx: Tx, row: PresetRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('presets').values(row).execute();
}

export async function updatePresetRow(tx: Tx, id: string, set: Partial<PresetRow>): Promise<void> {
  await tx.withTables<Tables>().updateTable('presets').set(set).where('id', '=', id).execute();
}

export async function deletePresetRow(tx: Tx, id: string): Promise<void> {
  await sql`delete from svc.presets where id = ${id}`.execute(tx);
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

function selectByRef(db: Db, tenantId: string, ref: string) {
  return selectPresets(db, tenantId).where(isUuid(ref) ? 'id' : 'name', '=', ref);
}

function selectPresets(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('presets').selectAll().where('tenant_id', '=', tenantId);
}
