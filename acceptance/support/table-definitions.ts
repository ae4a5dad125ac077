import pg from 'pg';
import { compareTables } from '../../server/src/admin/doctor/app-databases.ts';

export type TableDatabases = ReturnType<typeof openTableDatabases>;

/** Compares what the catalogue defines with what PostgreSQL has, in two databases. */
export function openTableDatabases(controlUrl: string, dataUrl: string) {
  const control = new pg.Pool({ connectionString: controlUrl, max: 1 });
  return {
    /** As `svc-admin doctor` finds them; empty if there are none. */
    differences: async () => (await compareTables({ pool: control }, dataUrl)).differences,
    /** What the catalogue defines for an app, without versions and times. */
    async definition(appId: string): Promise<string> {
      const { rows } = await control.query(
        `select coalesce(jsonb_agg(jsonb_build_object('name', t.name, 'changes', t.changes,
           'columns', (select jsonb_agg(to_jsonb(c) - 'table_id' order by c.number) from svc.app_table_columns c where c.table_id = t.id),
           'indexes', (select jsonb_agg(i.name order by i.name) from svc.app_table_indexes i where i.table_id = t.id)) order by t.name), '[]')::text as text
         from svc.app_tables t where t.app_id = $1`,
        [appId],
      );
      return rows[0].text;
    },
    close: () => control.end(),
  };
}
