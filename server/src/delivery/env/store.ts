import type { envEnvironments } from '@svc/contract/deployments.ts';
import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

export type Environment = (typeof envEnvironments)[number];

/** The variables of an app for itself, or for the previews of its branches. */
export interface EnvScope extends AppRef {
  environment: Environment;
}

export interface EnvRow {
  app_id: string;
  tenant_id: string;
  environment: Environment;
  name: string;
  value_sealed: Buffer;
  updated_by: string;
  updated_at: Date;
}
type Tables = { app_env: EnvRow };

export function listEnvRows(db: Db, { tenantId, appId, environment }: EnvScope): Promise<EnvRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('app_env')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId, environment }))
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
      conflict
        .columns(['app_id', 'environment', 'name'])
        .doUpdateSet({ value_sealed, updated_by, updated_at }),
    )
    .execute();
}

export async function deleteEnvRow(
  tx: Tx,
  { tenantId, appId, environment }: EnvScope,
  name: string,
): Promise<void> {
  await sql`delete from svc.app_env
    where tenant_id = ${tenantId} and app_id = ${appId} and environment = ${environment} and name = ${name}`.execute(
    tx,
  );
}

export async function countEnvRows(db: Db, { tenantId, appId }: AppRef): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::int as total from svc.app_env
    where tenant_id = ${tenantId} and app_id = ${appId}`.execute(db);
  return rows[0]?.total ?? 0;
}
