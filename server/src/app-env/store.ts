import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db, Tx } from '../plumbing/db.ts';

export interface EnvRow {
  app_id: string;
  tenant_id: string;
  name: string;
  value_sealed: Buffer;
  updated_by: string;
  updated_at: Date;
}
type Tables = { app_env: EnvRow };

export function listEnvRows(db: Db, { tenantId, appId }: AppPlace): Promise<EnvRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('app_env')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .orderBy('name')
    .execute();
}

/** In place of what had the name. */
export async function putEnvRow(tx: Tx, row: EnvRow): Promise<void> {
  const { value_sealed, updated_by, updated_at } = row;
  await tx
    .withTables<Tables>()
    .insertInto('app_env')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['app_id', 'name']).doUpdateSet({ value_sealed, updated_by, updated_at }),
    )
    .execute();
}

export async function deleteEnvRow(tx: Tx, { tenantId, appId }: AppPlace, name: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('app_env')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('name', '=', name)
    .execute();
}
