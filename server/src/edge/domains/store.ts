import type { DomainCheck } from '@svc/contract/domains.shapes.ts';
import type { disconnectReasons, domainStatuses } from '@svc/contract/domains.ts';
import { type Insertable, sql } from 'kysely';
import type { z } from 'zod';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

export type Check = z.output<typeof DomainCheck>;

export interface DomainRow {
  id: string;
  app_id: string;
  tenant_id: string;
  host: string;
  token: string;
  status: (typeof domainStatuses)[number];
  ownership: Check;
  routing: Check;
  certificate: Check;
  created_by: string;
  created_at: Date;
  verified_at: Date | null;
  last_checked_at: Date | null;
  next_check_at: Date | null;
  checking_until: Date | null;
  pending_since: Date;
  tries: number;
  wrong_since: Date | null;
  wrong_checks: number;
  disconnected_at: Date | null;
  disconnected_for: (typeof disconnectReasons)[number] | null;
  is_loss_untold: boolean;
}
type Tables = { domains: DomainRow };

export function listDomainRows(db: Db, app: AppRef): Promise<DomainRow[]> {
  return selectAppDomains(db, app).orderBy('created_at').orderBy('id').execute();
}

export function findDomainRow(db: Db, app: AppRef, id: string): Promise<DomainRow | undefined> {
  return selectAppDomains(db, app).where('id', '=', id).executeTakeFirst();
}

export function lockDomainRow(tx: Tx, app: AppRef, id: string): Promise<DomainRow | undefined> {
  return selectAppDomains(tx, app).where('id', '=', id).forUpdate().executeTakeFirst();
}

function selectAppDomains(db: Db, { tenantId, appId }: AppRef) {
  const domains = db.withTables<Tables>().selectFrom('domains').selectAll();
  return domains.where((e) => e.and({ tenant_id: tenantId, app_id: appId }));
}

export function insertDomainRow(tx: Tx, row: Insertable<DomainRow>): Promise<DomainRow | undefined> {
  return tx
    .withTables<Tables>()
    .insertInto('domains')
    .values(row)
    .onConflict((conflict) => conflict.columns(['app_id', 'host']).doNothing())
    .returningAll()
    .executeTakeFirst();
}

export function saveDomainRow(
  tx: Tx,
  { tenantId, appId }: AppRef,
  id: string,
  set: Partial<DomainRow>,
): Promise<DomainRow> {
  return tx
    .withTables<Tables>()
    .updateTable('domains')
    .set(set)
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId, id }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteDomainRow(tx: Tx, { tenantId, appId }: AppRef, id: string): Promise<void> {
  const domains = tx.withTables<Tables>().deleteFrom('domains');
  await domains.where((e) => e.and({ tenant_id: tenantId, app_id: appId, id })).execute();
}

/** Serializes all decisions about who has a host, across tenants. */
export async function lockHost(tx: Tx, host: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc.domains ${host}`}, 0))`.execute(tx);
}

/** The clock that all copies of the server share. */
export async function databaseTime(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    select date_trunc('milliseconds', clock_timestamp()) as now`.execute(db);
  if (!rows[0]) throw new Error('The database returned no time.');
  return rows[0].now;
}

/** The active domain of any tenant. Caller must hold `lockHost`. */
export function lockActiveRow(tx: Tx, host: string): Promise<DomainRow | undefined> {
  const domains = tx.withTables<Tables>().selectFrom('domains').selectAll();
  return domains
    .where((e) => e.and({ host, status: 'active' }))
    .forUpdate()
    .executeTakeFirst();
}

export async function claimDueRow(db: Db, { except, seconds }: { except: string[]; seconds: number }) {
  const { rows } = await sql<Pick<DomainRow, 'id' | 'tenant_id' | 'app_id' | 'host'>>`
    update svc.domains set checking_until = now() + make_interval(secs => ${seconds})
    where id in (
      select id from svc.domains
      where next_check_at <= now() and (checking_until is null or checking_until < now())
        and tenant_id <> all(${except}::uuid[])
      order by next_check_at limit 1 for update skip locked)
    returning id, tenant_id, app_id, host`.execute(db);
  return rows[0];
}

export async function claimLossNotification(tx: Tx, tenantId: string, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`update svc.domains set is_loss_untold = false
    where tenant_id = ${tenantId} and id = ${id} and is_loss_untold`.execute(tx);
  return numAffectedRows === 1n;
}

export type DomainToCertify = AppRef & Pick<DomainRow, 'host' | 'status'>;

export interface ActiveHost {
  host: string;
  appId: string;
}

export async function findActiveHost(db: Db, host: string): Promise<string | null> {
  const { rows } = await sql<{ app_id: string }>`
    select app_id from svc.domains where host = ${host} and status = 'active'`.execute(db);
  return rows[0]?.app_id ?? null;
}

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
