import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

export interface EnvRow {
  app_id: string;
  tenant_id: string;
  name: string;
  value_sealed: Buffer;
  updated_by: string;
  updated_at: Date;
}
type Tables = { app_env: EnvRow };

export function listEnvRows(db: Db, { tenantId, appId }: AppRef): Promise<EnvRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('app_env')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }))
    .orderBy('name')
    .execute();
}

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

export async function deleteEnvRow(tx: Tx, { tenantId, appId }: AppRef, name: string): Promise<void> {
  await sql`delete from svc.app_env
    where tenant_id = ${tenantId} and app_id = ${appId} and name = ${name}`.execute(tx);
}
