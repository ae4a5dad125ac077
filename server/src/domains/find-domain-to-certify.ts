import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

export interface DomainToCertify {
  tenantId: string;
  appId: string;
  host: string;
  status: 'pending' | 'active' | 'disconnected';
}

/** For who orders its certificate, knowing nothing but its id; null: it is gone. */
export async function findDomainToCertify(db: Db, domainId: string): Promise<DomainToCertify | null> {
  const { rows } = await sql<DomainToCertify>`
    select tenant_id as "tenantId", app_id as "appId", host, status
    from svc.domains where id = ${domainId}`.execute(db);
  return rows[0] ?? null;
}
