import { sql } from 'kysely';
import type { Db } from '../../core/db.ts';
import type { DomainToCertify } from './store.ts';

/** The app that the host is active for. */
export async function findActiveHost(db: Db, host: string): Promise<string | null> {
  const { rows } = await sql<{ app_id: string }>`
    select app_id from svc.domains where host = ${host} and status = 'active'`.execute(db);
  return rows[0]?.app_id ?? null;
}

export interface ActiveHost {
  host: string;
  appId: string;
}

/** The hosts of all tenants. */
export async function listActiveHosts(db: Db): Promise<ActiveHost[]> {
  const { rows } = await sql<ActiveHost>`
    select host, app_id as "appId" from svc.domains where status = 'active'`.execute(db);
  return rows;
}

export async function findDomainToCertify(db: Db, domainId: string): Promise<DomainToCertify | null> {
  const { rows } = await sql<DomainToCertify>`
    select tenant_id as "tenantId", app_id as "appId", host, status
    from svc.domains where id = ${domainId}`.execute(db);
  return rows[0] ?? null;
}

/** Makes the next job run check the domain, for example after its certificate was issued. */
export async function checkSoon(db: Db, { tenantId, domainId }: { tenantId: string; domainId: string }) {
  await sql`update svc.domains set next_check_at = now()
    where tenant_id = ${tenantId} and id = ${domainId} and status <> 'disconnected'`.execute(db);
}
