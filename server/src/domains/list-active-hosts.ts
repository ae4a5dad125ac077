import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** Dropped whenever a host becomes active or stops being so. */
export const domainsTag = 'domains';

export interface ActiveHost {
  host: string;
  appId: string;
}

/** Of every tenant: a request names nothing but its host. */
export async function listActiveHosts(db: Db): Promise<ActiveHost[]> {
  const { rows } = await sql<ActiveHost>`
    select host, app_id as "appId" from svc.domains where status = 'active'`.execute(db);
  return rows;
}
