import type { accessLogActors } from '@svc/contract/access-log.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../core/db.ts';
import { isUuid } from '../../core/values.ts';

export interface AccessLogRow {
  tenant_id: string;
  at: Date;
  actor_kind: (typeof accessLogActors)[number];
  actor_id: string;
  actor_name: string;
  through_app_id: string | null;
  connector_id: string | null;
  app_id: string | null;
  resource_path: string;
  action: string;
  columns: readonly string[];
  masked_columns: readonly string[];
  rows: number;
  grant_ids: readonly string[];
  policy_ids: readonly string[];
  request_id: string;
}

const names =
  sql.raw(`tenant_id, at, actor_kind, actor_id, actor_name, through_app_id, connector_id, app_id, resource_path,
  action, columns, masked_columns, rows, grant_ids, policy_ids, request_id`);

export async function insertRows(db: Db, rows: readonly AccessLogRow[]): Promise<void> {
  await sql`insert into svc.access_log (${names})
    select ${names} from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as entry (tenant_id uuid, at timestamptz,
      actor_kind text, actor_id uuid, actor_name text, through_app_id uuid, connector_id uuid, app_id uuid,
      resource_path text, action text, columns text[], masked_columns text[], rows bigint, grant_ids text[],
      policy_ids text[], request_id text)`.execute(db);
}

export interface AccessLogFilter {
  actorId?: string | undefined;
  appId?: string | undefined;
  connectorId?: string | undefined;
  path?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  before: { at: Date; id: string } | null;
  limit: number;
}

export async function listRows(
  db: Db,
  tenantId: string,
  filter: AccessLogFilter,
): Promise<(AccessLogRow & { id: string })[]> {
  const { actorId, appId, connectorId, path, from, to, before } = filter;
  const conditions: RawBuilder<unknown>[] = [sql`tenant_id = ${tenantId}`];
  if (actorId) conditions.push(sql`actor_id = ${actorId}`);
  if (appId) conditions.push(sql`(app_id = ${appId} or through_app_id = ${appId} or actor_id = ${appId})`);
  if (connectorId) conditions.push(sql`connector_id = ${connectorId}`);
  if (path) conditions.push(sql`(resource_path = ${path} or starts_with(resource_path, ${`${path}/`}))`);
  if (from) conditions.push(sql`at >= ${from}`);
  if (to) conditions.push(sql`at < ${to}`);
  if (before) conditions.push(sql`(at, id) < (${before.at}, ${before.id}::bigint)`);
  const { rows } = await sql<
    AccessLogRow & { id: string }
  >`select id::text as id, ${names} from svc.access_log
    where ${sql.join(conditions, sql` and `)} order by at desc, id desc limit ${filter.limit}`.execute(db);
  return rows;
}

/** The table belongs to a later module; read only. */
export async function findAppId(db: Db, tenantId: string, ref: string): Promise<string | null> {
  if (isUuid(ref)) return ref.toLowerCase();
  const { rows } = await sql<{ id: string }>`
    select id from svc.apps where tenant_id = ${tenantId} and slug = ${ref}`.execute(db);
  return rows[0]?.id ?? null;
}

const perStatementMax = 20_000;

/** In several statements, so that none of them runs for long. */
export async function deleteRowsBefore(db: Db, before: Date): Promise<void> {
  for (let deleted = perStatementMax; deleted === perStatementMax; ) {
    const { numAffectedRows } = await sql`delete from svc.access_log where ctid = any(array(
      select ctid from svc.access_log where at < ${before} limit ${perStatementMax}))`.execute(db);
    deleted = Number(numAffectedRows ?? 0n);
  }
}
