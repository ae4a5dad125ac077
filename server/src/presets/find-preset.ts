import type { Db, Tx } from '../plumbing/db.ts';
import { builtInPreset, builtInRecords, holdPresetRow, listPresetRows } from './store.ts';

/** For other slices: the preset's id; it can not be deleted before this transaction ends. */
export async function holdPreset(tx: Tx, tenantId: string, ref: string): Promise<string | null> {
  return builtInPreset(ref)?.id ?? (await holdPresetRow(tx, tenantId, ref))?.id ?? null;
}

/** Which actions each preset of the tenant allows, by preset id. */
export async function actionsByPreset(db: Db, tenantId: string): Promise<Map<string, readonly string[]>> {
  const rows = await listPresetRows(db, tenantId);
  return new Map([...builtInRecords, ...rows].map((preset) => [preset.id, preset.actions]));
}

/** What holders of grants may know of presets. */
export async function presetsNamed(db: Db, tenantId: string, ids: readonly string[]) {
  const rows = await listPresetRows(db, tenantId);
  return [...builtInRecords, ...rows]
    .filter(({ id }) => ids.includes(id))
    .map(({ id, name, actions, description }) => ({ id, name, actions, description }));
}
