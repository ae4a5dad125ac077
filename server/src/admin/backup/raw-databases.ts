import type { ClientBase } from 'pg';

/** Databases of apps' own, which no backup holds: their rights and their kinds of things are their owners'. */
export async function rawDatabasesLeftOut(control: ClientBase): Promise<string[]> {
  const known = await control.query(`select where to_regclass('svc.raw_databases') is not null`);
  if (known.rowCount === 0) return [];
  const { rows } = await control.query<{ what: string }>(
    `select format('database %s of app %s', r.database, a.slug) as what
     from svc.raw_databases r join svc.apps a on a.id = r.app_id where r.state <> 'dropping' order by 1`,
  );
  return rows.map(({ what }) => what);
}
