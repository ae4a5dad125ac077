import pg from 'pg';

export type TableDatabases = ReturnType<typeof openTableDatabases>;

/** Reads what the catalogue defines and what PostgreSQL has, from two databases. */
export function openTableDatabases(controlUrl: string, dataUrl: string) {
  const control = new pg.Pool({ connectionString: controlUrl, max: 1 });
  const data = new pg.Pool({ connectionString: dataUrl, max: 1 });
  return {
    /** What differs; empty if nothing does. */
    async differences() {
      const [defined, found] = await Promise.all([control.query(definedSql), data.query(foundSql)]);
      const lines = (rows: { part: string }[]) => new Set(rows.map(({ part }) => part));
      const [wanted, is] = [lines(defined.rows), lines(found.rows)];
      return [
        ...[...wanted].filter((part) => !is.has(part)).map((part) => `missing: ${part}`),
        ...[...is].filter((part) => !wanted.has(part)).map((part) => `not defined: ${part}`),
      ];
    },
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
    async close() {
      await Promise.all([control.end(), data.end()]);
    },
  };
}

const physical = (id: string) => `replace(${id}::text, '-', '')`;
const table = `'app_' || ${physical('t.app_id')} || '.t_' || ${physical('t.id')}`;

const definedSql = `
  select ${table} as part from svc.app_tables t
  union all
  select ${table} || ' c' || c.number || case c.type when 'int' then ' int4' when 'text' then ' text' else '' end ||
    case when c.nullable then '' else ' not null' end
  from svc.app_tables t join svc.app_table_columns c on c.table_id = t.id
  union all
  select ${table} || ' i_' || ${physical('i.id')} from svc.app_tables t join svc.app_table_indexes i on i.table_id = t.id
  union all
  select ${table} || ' f' || c.number from svc.app_tables t join svc.app_table_columns c on c.table_id = t.id
  where c.ref_table is not null
  union all
  select ${table} || ' log' from svc.app_tables t
  where t.changes or t.history_days is not null or t.soft_delete_days is not null`;

const ofApps = `c.relkind = 'r' and n.nspname ~ '^app_[0-9a-f]{32}$'`;
const found = `pg_class c join pg_namespace n on n.oid = c.relnamespace`;
const name = `n.nspname || '.' || c.relname`;

const foundSql = `
  select ${name} as part from ${found} where ${ofApps} and c.relname ~ '^t_'
  union all
  select ${name} || ' ' || a.attname || case when y.typname in ('int4', 'text') then ' ' || y.typname else '' end ||
    case when a.attnotnull then ' not null' else '' end
  from ${found} join pg_attribute a on a.attrelid = c.oid join pg_type y on y.oid = a.atttypid
  where ${ofApps} and c.relname ~ '^t_' and a.attname ~ '^c[0-9]+$' and not a.attisdropped
  union all
  select ${name} || ' ' || i.relname from ${found} join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid
  where ${ofApps} and i.relname ~ '^i_'
  union all
  select ${name} || ' ' || k.conname from ${found} join pg_constraint k on k.conrelid = c.oid
  where ${ofApps} and k.contype = 'f'
  union all
  select replace(${name}, '.l_', '.t_') || ' log' from ${found} where ${ofApps} and c.relname ~ '^l_'`;
