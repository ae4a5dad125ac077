import type { GrantRequest } from '@svc/contract/grant-requests.shapes.ts';
import type { GrantRequestStatus } from '@svc/contract/grant-requests.ts';
import { type RawBuilder, sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';

type Derived = 'requested_at' | 'expires_at' | 'decided_at' | 'can_decide';

export interface RequestRow extends Omit<z.output<typeof GrantRequest>, Derived> {
  tenant_id: string;
  requested_at: Date;
  expires_at: Date;
  decided_at: Date | null;
  connector_owners: string[];
}

/** A request that nobody decided ends by the clock, whether or not the job has recorded it. */
const statusNow = sql`case when r.status = 'pending' and r.expires_at <= clock_timestamp() then 'expired' else r.status end`;

const columns = sql`r.id, r.tenant_id, r.connector_id, coalesce(c.slug, '') as connector_slug,
  coalesce(c.name, '') as connector_name, coalesce(c.owners, '{}') as connector_owners, r.preset_id,
  coalesce(p.name, r.preset_id) as preset_name, r.scope_resource_paths, r.duration_seconds, r.reason,
  ${statusNow} as status, r.requested_by, u.email as requested_by_email, r.requested_at, r.expires_at, r.decided_by,
  coalesce(d.email, '') as decided_by_email, r.decided_at, r.decision_reason, r.grant_id`;

const tables = sql`svc.grant_requests r
  join svc.users u on u.id = r.requested_by
  left join svc.users d on d.id = r.decided_by
  left join svc.connectors c on c.id = r.connector_id
  left join svc.presets p on p.id::text = r.preset_id`;

interface RequestFilter {
  status?: GrantRequestStatus | undefined;
  connectorId?: string | undefined;
  requestedBy?: string | undefined;
  notRequestedBy?: string | undefined;
  visibleTo?: string | undefined;
}

export async function listRequestRows(
  db: Db,
  tenantId: string,
  filter: RequestFilter,
  { limit, offset }: PageWindow,
): Promise<{ rows: RequestRow[]; total: number }> {
  const conditions: RawBuilder<unknown>[] = [sql`r.tenant_id = ${tenantId}`];
  const { status, connectorId, requestedBy, notRequestedBy, visibleTo } = filter;
  if (status !== undefined) conditions.push(sql`${statusNow} = ${status}`);
  if (connectorId !== undefined) conditions.push(sql`r.connector_id = ${connectorId}`);
  if (requestedBy !== undefined) conditions.push(sql`r.requested_by = ${requestedBy}`);
  if (notRequestedBy !== undefined) conditions.push(sql`r.requested_by <> ${notRequestedBy}`);
  if (visibleTo !== undefined)
    conditions.push(sql`(r.requested_by = ${visibleTo} or c.owners @> array[${visibleTo}::uuid])`);
  const where = sql.join(conditions, sql` and `);
  const { rows } = await sql<RequestRow & { total: number }>`
    select ${columns}, count(*) over ()::int as total from ${tables} where ${where}
    order by r.requested_at desc, r.id desc limit ${limit} offset ${offset}`.execute(db);
  if (rows[0] || offset === 0) return { rows, total: rows[0]?.total ?? 0 };
  const counted = await sql<{ total: number }>`
    select count(*)::int as total from ${tables} where ${where}`.execute(db);
  return { rows, total: counted.rows[0]?.total ?? 0 };
}

export async function findRequestRow(db: Db, tenantId: string, id: string): Promise<RequestRow | undefined> {
  const { rows } = await sql<RequestRow>`
    select ${columns} from ${tables} where r.tenant_id = ${tenantId} and r.id = ${id}`.execute(db);
  return rows[0];
}

/** The status is evaluated after the lock is acquired. */
export async function lockRequestRow(tx: Tx, tenantId: string, id: string): Promise<RequestRow | undefined> {
  await sql`select from svc.grant_requests where tenant_id = ${tenantId} and id = ${id} for update`.execute(
    tx,
  );
  return findRequestRow(tx, tenantId, id);
}

export async function countPending(db: Db, tenantId: string, userId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from svc.grant_requests r
    where tenant_id = ${tenantId} and requested_by = ${userId} and ${statusNow} = 'pending'`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Locks pending requests by what ends them. Skips rows that are locked by others; the next run finds them. */
export async function lockPendingRows(
  tx: Tx,
  tenantId: string,
  by: { requestedBy: string } | { connectorId: string } | { overdue: number },
): Promise<RequestRow[]> {
  const isEnding =
    'requestedBy' in by
      ? sql`requested_by = ${by.requestedBy}`
      : 'connectorId' in by
        ? sql`connector_id = ${by.connectorId}`
        : sql`expires_at <= clock_timestamp()`;
  const some = 'overdue' in by ? sql`limit ${by.overdue} for update skip locked` : sql`for update`;
  const locked = await sql<{ id: string }>`select id from svc.grant_requests
    where tenant_id = ${tenantId} and status = 'pending' and ${isEnding} order by id ${some}`.execute(tx);
  const { rows } = await sql<RequestRow>`select ${columns} from ${tables}
    where r.id = any(${locked.rows.map(({ id }) => id)}::uuid[]) order by r.id`.execute(tx);
  return rows;
}

export async function insertRequestRow(
  tx: Tx,
  row: Pick<
    RequestRow,
    | 'id'
    | 'tenant_id'
    | 'connector_id'
    | 'preset_id'
    | 'scope_resource_paths'
    | 'duration_seconds'
    | 'reason'
    | 'requested_by'
    | 'requested_at'
    | 'expires_at'
  >,
): Promise<void> {
  await sql`insert into svc.grant_requests (id, tenant_id, connector_id, preset_id, scope_resource_paths, duration_seconds,
      reason, status, requested_by, requested_at, expires_at)
    values (${row.id}, ${row.tenant_id}, ${row.connector_id}, ${row.preset_id}, ${row.scope_resource_paths}::text[],
      ${row.duration_seconds}, ${row.reason}, 'pending', ${row.requested_by}, ${row.requested_at}, ${row.expires_at})`.execute(
    tx,
  );
}

export interface Outcome {
  status: Exclude<GrantRequestStatus, 'pending'>;
  decidedBy: string | null;
  reason: string;
  at: Date;
  grantId?: string;
  remindAt?: Date;
}

export async function saveOutcome(tx: Tx, id: string, outcome: Outcome): Promise<void> {
  await sql`update svc.grant_requests set status = ${outcome.status}, decided_by = ${outcome.decidedBy},
      decided_at = ${outcome.at}, decision_reason = ${outcome.reason}, grant_id = ${outcome.grantId ?? null},
      remind_at = ${outcome.remindAt ?? null}
    where id = ${id}`.execute(tx);
}

export async function listTenantsWithDueRequests(db: Db): Promise<string[]> {
  const { rows } = await sql<{ tenant_id: string }>`
    select distinct tenant_id from svc.grant_requests
    where (status = 'pending' and expires_at <= clock_timestamp()) or remind_at <= clock_timestamp()`.execute(
    db,
  );
  return rows.map(({ tenant_id }) => tenant_id);
}

export interface EndingRow extends RequestRow {
  ends_at: Date | null;
}

/** Takes the reminders that are due, so that each is sent once. */
export async function takeDueReminders(tx: Tx, tenantId: string, limit: number): Promise<EndingRow[]> {
  const taken = await sql<{ id: string }>`update svc.grant_requests set remind_at = null where id in (
      select id from svc.grant_requests where tenant_id = ${tenantId} and remind_at <= clock_timestamp()
      order by remind_at limit ${limit} for update skip locked)
    returning id`.execute(tx);
  const { rows } = await sql<EndingRow>`select ${columns},
      case when g.status = 'active' and g.expires_at > clock_timestamp() then g.expires_at end as ends_at
    from ${tables} join svc.grants g on g.id = r.grant_id
    where r.id = any(${taken.rows.map(({ id }) => id)}::uuid[])`.execute(tx);
  return rows;
}
