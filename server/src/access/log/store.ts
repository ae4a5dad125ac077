import type { accessLogActors } from '@svc/contract/access-log.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../core/db.ts';
import { isUuid } from '../../core/values.ts';

interface AccessLogRow {
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

/** Equal reads of a short time are stored together. The row itself is the last one. */
export interface StoredReads extends Omit<AccessLogRow, 'at'> {
  at: string;
  earlier: string;
}

export const spanMsMax = 30_000;

const sharedNames =
  sql.raw(`tenant_id, actor_kind, actor_id, actor_name, through_app_id, connector_id, app_id, resource_path,
  action, columns, masked_columns, grant_ids, policy_ids`);
const readNames = sql.raw('at, rows, request_id, earlier');

export async function insertRows(db: Db, rows: readonly StoredReads[]): Promise<void> {
  await sql`insert into svc.access_log (${sharedNames}, ${readNames})
    select ${sharedNames}, ${readNames} from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as entry (tenant_id uuid, at timestamptz,
      actor_kind text, actor_id uuid, actor_name text, through_app_id uuid, connector_id uuid, app_id uuid,
      resource_path text, action text, columns text[], masked_columns text[], rows bigint, grant_ids text[],
      policy_ids text[], request_id text, earlier text)`.execute(db);
}

export interface Position {
  at: Date;
  id: string;
  place: number;
}

interface AccessLogFilter {
  actorId?: string | undefined;
  appId?: string | undefined;
  connectorId?: string | undefined;
  path?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  before: Position | null;
  limit: number;
}

export async function listRows(
  db: Db,
  tenantId: string,
  filter: AccessLogFilter,
): Promise<(AccessLogRow & { through_app_slug: string | null; position: Position })[]> {
  const { actorId, appId, connectorId, path, from, to, before } = filter;
  const conditions: RawBuilder<unknown>[] = [sql`tenant_id = ${tenantId}`];
  if (actorId) conditions.push(sql`actor_id = ${actorId}`);
  if (appId) conditions.push(sql`(app_id = ${appId} or through_app_id = ${appId} or actor_id = ${appId})`);
  if (connectorId) conditions.push(sql`connector_id = ${connectorId}`);
  if (path) conditions.push(sql`(resource_path = ${path} or starts_with(resource_path, ${`${path}/`}))`);
  if (from) conditions.push(sql`l.at >= ${from} and e.at >= ${from}`);
  if (to) conditions.push(sql`l.at < ${new Date(to.getTime() + 2 * spanMsMax)} and e.at < ${to}`);
  if (before)
    conditions.push(sql`(l.at, l.id) <= (${before.at}, ${before.id}::bigint)
      and ((l.at, l.id) < (${before.at}, ${before.id}::bigint) or e.place > ${before.place})`);
  type Found = Omit<AccessLogRow, 'at'> & {
    through_app_slug: string | null;
    read_at: Date;
    row_at: Date;
    row_id: string;
    place: number;
  };
  const { rows } =
    await sql<Found>`select ${sharedNames}, l.id::text as row_id, l.at as row_at, e.at as read_at, e.rows,
      e.request_id, e.place::int as place,
      (select slug from svc.apps where apps.id = l.through_app_id) as through_app_slug
    from svc.access_log l cross join lateral (
      select l.at, l.rows, l.request_id, 0 as place
      union all
      select * from unnest(l.earlier_at, l.earlier_rows, l.earlier_request_ids) with ordinality
      union all
      select l.at - split_part(line, ' ', 1)::int * interval '1 millisecond', split_part(line, ' ', 2)::bigint,
        split_part(line, ' ', 3), place
      from string_to_table(nullif(l.earlier, ''), chr(10)) with ordinality as earlier (line, place)
    ) as e (at, rows, request_id, place)
    where ${sql.join(conditions, sql` and `)} order by l.at desc, l.id desc, e.place limit ${filter.limit}`.execute(
      db,
    );
  return rows.map(({ row_id, row_at, read_at, place, ...row }) => ({
    ...row,
    at: read_at,
    position: { at: row_at, id: row_id, place },
  }));
}

/** As for the names in the list, the table belongs to a later module; read only. */
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
