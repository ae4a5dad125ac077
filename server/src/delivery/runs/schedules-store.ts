import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

export interface ScheduleRow {
  app_id: string;
  tenant_id: string;
  name: string;
  cron: string;
  timezone: string;
  command: string | null;
  path: string | null;
  timeout_seconds: number;
  next_at: Date | null;
}
type Tables = { app_schedules: ScheduleRow };

function selectSchedules(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('app_schedules')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }))
    .orderBy('name');
}

export function listScheduleRows(db: Db, app: AppRef): Promise<ScheduleRow[]> {
  return selectSchedules(db, app).execute();
}

export function lockScheduleRow(tx: Tx, app: AppRef, name: string): Promise<ScheduleRow | undefined> {
  return selectSchedules(tx, app).where('name', '=', name).forUpdate().executeTakeFirst();
}

export async function replaceScheduleRows(tx: Tx, app: AppRef, rows: readonly ScheduleRow[]): Promise<void> {
  await sql`delete from svc.app_schedules
    where tenant_id = ${app.tenantId} and app_id = ${app.appId}
      and name <> all(${rows.map(({ name }) => name)}::text[])`.execute(tx);
  if (rows.length === 0) return;
  await tx
    .withTables<Tables>()
    .insertInto('app_schedules')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns(['app_id', 'name']).doUpdateSet(({ ref }) => ({
        cron: ref('excluded.cron'),
        timezone: ref('excluded.timezone'),
        command: ref('excluded.command'),
        path: ref('excluded.path'),
        timeout_seconds: ref('excluded.timeout_seconds'),
        next_at: ref('excluded.next_at'),
      })),
    )
    .execute();
}

export interface DueSchedule extends ScheduleRow {
  next_at: Date;
  /** Whether the app runs: neither archived nor suspended. */
  isActive: boolean;
  hasOpenRun: boolean;
}

/** One that is due and that no other server works on. */
export async function lockDueSchedule(tx: Db, now: Date): Promise<DueSchedule | null> {
  const { rows } = await sql<DueSchedule>`
    select s.*, (a.record = 'active' and a.runtime = 'running') as "isActive",
      exists (select from svc.app_runs r
        where r.app_id = s.app_id and r.schedule = s.name and r.ended_at is null) as "hasOpenRun"
    from svc.app_schedules s join svc.apps a on a.id = s.app_id
    where s.next_at <= ${now}
    order by s.next_at limit 1 for update of s skip locked`.execute(tx);
  return rows[0] ?? null;
}

export async function saveNextTime(
  tx: Db,
  { app_id, name }: Pick<ScheduleRow, 'app_id' | 'name'>,
  nextAt: Date | null,
): Promise<void> {
  await sql`update svc.app_schedules set next_at = ${nextAt}
    where app_id = ${app_id} and name = ${name}`.execute(tx);
}

export async function findNextTime(db: Db): Promise<Date | null> {
  const { rows } = await sql<{ next: Date | null }>`
    select min(next_at) as next from svc.app_schedules`.execute(db);
  return rows[0]?.next ?? null;
}
