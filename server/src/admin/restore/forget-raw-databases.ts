import type { ClientBase } from 'pg';

/**
 * Databases of apps' own are in no backup, and where this is restored they may be another system's: none is taken for
 * one of this system, and none is dropped. Their apps are without one, and may get a new one.
 */
export async function forgetRawDatabases(control: ClientBase): Promise<string[]> {
  const known = await control.query(`select where to_regclass('svc.raw_databases') is not null`);
  if (known.rowCount === 0) return [];
  await control.query(`delete from svc.outbox where topic = 'rawDb.settle' and done_at is null`);
  const { rows } = await control.query<{ slug: string }>(
    `with gone as (delete from svc.raw_databases returning app_id, state)
     select a.slug from gone join svc.apps a on a.id = gone.app_id where gone.state <> 'dropping' order by 1`,
  );
  return rows.map(({ slug }) => slug);
}
