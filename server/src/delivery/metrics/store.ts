import { sql } from 'kysely';
import type { Db } from '../../core/db.ts';

export interface MinuteRow {
  appId: string;
  process: string;
  minute: Date;
  requests: number;
  byStatus: readonly number[];
  latency: readonly number[];
  bytesOut: number;
  cpuMs: number;
  memoryBytes: number;
}

/** Adds to the counts of other server processes. A deleted app is ignored. */
export async function addMinute(db: Db, row: MinuteRow): Promise<void> {
  await sql`
    insert into svc.app_metrics as m
      (app_id, process, minute, requests, by_status, latency, bytes_out, cpu_ms, memory_bytes)
    select a.id, ${row.process}, ${row.minute}, ${row.requests}, ${[...row.byStatus]}::bigint[], ${[...row.latency]}::bigint[],
      ${row.bytesOut}, ${row.cpuMs}, ${row.memoryBytes}
    from svc.apps a where a.id = ${row.appId}
    on conflict (app_id, process, minute) do update set
      requests = m.requests + excluded.requests,
      by_status = (select array_agg(coalesce(b, 0) + coalesce(n, 0) order by at)
        from unnest(m.by_status, excluded.by_status) with ordinality as both_(b, n, at)),
      latency = (select array_agg(coalesce(b, 0) + coalesce(n, 0) order by at)
        from unnest(m.latency, excluded.latency) with ordinality as both_(b, n, at)),
      bytes_out = m.bytes_out + excluded.bytes_out,
      cpu_ms = m.cpu_ms + excluded.cpu_ms,
      memory_bytes = greatest(m.memory_bytes, excluded.memory_bytes)`.execute(db);
}

export async function listMinutes(
  db: Db,
  { tenantId, appId, from }: { tenantId: string; appId: string; from: Date },
): Promise<Omit<MinuteRow, 'appId'>[]> {
  const { rows } = await sql<Omit<MinuteRow, 'appId'>>`
    select m.process, m.minute, m.requests::float8 as requests, m.by_status::float8[] as "byStatus",
      m.latency::float8[] as latency, m.bytes_out::float8 as "bytesOut", m.cpu_ms::float8 as "cpuMs",
      m.memory_bytes::float8 as "memoryBytes"
    from svc.app_metrics m
    join svc.apps a on a.id = m.app_id and a.tenant_id = ${tenantId}
    where m.app_id = ${appId} and m.minute >= ${from}
    order by m.minute, m.process`.execute(db);
  return rows;
}

export async function deleteOldMinutes(db: Db, days: number): Promise<void> {
  await sql`delete from svc.app_metrics where minute < now() - make_interval(days => ${days})`.execute(db);
}
