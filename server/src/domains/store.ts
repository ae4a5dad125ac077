import type { DomainCheck } from '@svc/contract/domains.shapes.ts';
import type { disconnectReasons, domainStatuses } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db, Tx } from '../plumbing/db.ts';

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

export function listDomainRows(db: Db, place: AppPlace): Promise<DomainRow[]> {
  return domainsOf(db, place).selectAll().orderBy('created_at').orderBy('id').execute();
}

export function findDomainRow(db: Db, place: AppPlace, id: string): Promise<DomainRow | undefined> {
  return domainsOf(db, place).selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockDomainRow(tx: Tx, place: AppPlace, id: string): Promise<DomainRow | undefined> {
  return domainsOf(tx, place).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Undefined where the app has the host already. */
export function insertDomainRow(tx: Tx, row: DomainRow): Promise<DomainRow | undefined> {
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
  { tenantId, appId }: AppPlace,
  id: string,
  set: Partial<DomainRow>,
): Promise<DomainRow> {
  return tx
    .withTables<Tables>()
    .updateTable('domains')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteDomainRow(tx: Tx, { tenantId, appId }: AppPlace, id: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('domains')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .execute();
}

/** All who settle whose a host is come one after the other, whichever tenants they are of. */
export async function lockHost(tx: Tx, host: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc.domains ${host}`}, 0))`.execute(tx);
}

/** By the clock that all copies of the server share. */
export async function databaseTime(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    select date_trunc('milliseconds', clock_timestamp()) as now`.execute(db);
  if (!rows[0]) throw new Error('The database told no time.');
  return rows[0].now;
}

/** Whoever has the host now, of whichever tenant. To be asked under `lockHost`. */
export function lockActiveRow(tx: Tx, host: string): Promise<DomainRow | undefined> {
  return tx
    .withTables<Tables>()
    .selectFrom('domains')
    .selectAll()
    .where('host', '=', host)
    .where('status', '=', 'active')
    .forUpdate()
    .executeTakeFirst();
}

/** Of every tenant but these, for the clock alone: one that is due, for this copy of the server until the lease is over. */
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

/** Whether it was still to be told. */
export async function takeUntoldLoss(tx: Tx, tenantId: string, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .withTables<Tables>()
    .updateTable('domains')
    .set({ is_loss_untold: false })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('is_loss_untold', '=', true)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

function domainsOf(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('domains')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
