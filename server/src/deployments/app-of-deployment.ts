import { resourcesOf } from '@svc/contract/resource-presets.ts';
import { sql } from 'kysely';
import type { AppRow } from '../apps/app-row.ts';
import type { Limits } from '../drivers/runtime/runtime.ts';
import type { Db } from '../plumbing/db.ts';
import type { AppPlace } from './store.ts';

/** What the runtime has to know of the app. */
export interface DeployedApp {
  slug: string;
  number: number;
  limits: Limits;
}

export async function appOfDeployment(db: Db, { tenantId, appId }: AppPlace): Promise<DeployedApp> {
  const { rows } = await sql<{ slug: string; number: number | null; tier: AppRow['resource_preset'] }>`
    select slug, runtime_number as number, resource_preset as tier from svc.apps
    where tenant_id = ${tenantId} and id = ${appId}`.execute(db);
  const row = rows[0];
  if (!row) throw new Error('The app of a deployment is not there.');
  const { cpu, memory_mb: memoryMb } = resourcesOf[row.tier];
  const number = row.number ?? (await numberFor(db, { tenantId, appId }));
  return { slug: row.slug, number, limits: { cpu, memoryMb } };
}

/** Given when it is first needed: a sequence can not be taken back with the preview of an app. */
async function numberFor(db: Db, { tenantId, appId }: AppPlace): Promise<number> {
  const { rows } = await sql<{ number: number }>`
    update svc.apps set runtime_number = coalesce(runtime_number, nextval('svc.app_runtime_numbers'))
    where tenant_id = ${tenantId} and id = ${appId}
    returning runtime_number as number`.execute(db);
  if (!rows[0]) throw new Error('The app of a deployment is not there.');
  return rows[0].number;
}
