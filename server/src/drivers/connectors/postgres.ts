import { isIP } from 'node:net';
import type { ColumnType } from '@svc/contract/columns.ts';
import type { ClientConfig } from 'pg';
import { type Connection, connect } from '../row-database/connection.ts';
import { withCursor } from '../row-database/row-pool.ts';
import {
  type ConnectorTarget,
  type ForeignDriver,
  type ForeignTable,
  foreignRowBytesMax,
  foreignTable,
  type MappedType,
  type OpenOptions,
  openError,
} from './types.ts';

export const postgresDriver: ForeignDriver = {
  openPipelined: openConnection,

  async open(options) {
    const connection = await openConnection(options);
    const { cursor } = withCursor(connection);
    return {
      query: connection.query,
      cursor,
      begin: async (mode) => void (await connection.query(`begin ${modes[mode]}`, [])),
      tls: connection.tls,
      get isOpen() {
        return connection.isOpen;
      },
      close: () => connection.close(),
    };
  },

  async probe({ query }) {
    const { rows } = await query(probeSql, []);
    const [version = '', username = '', isSuperuser, canWrite, tables] = rows[0] ?? [];
    return {
      server: 'PostgreSQL',
      version: version ?? '',
      login: {
        username: username ?? '',
        is_superuser: isSuperuser === 'true',
        can_write: canWrite === 'true',
        tables: Number(tables ?? 0),
      },
    };
  },

  async listTables({ query }) {
    const tables = new Map<string, ForeignTable>();
    const { rows } = await query(columnsSql, []);
    for (const row of rows) addColumn(tables, row as string[]);
    return [...tables.values()];
  },
};

function openConnection(options: OpenOptions): Promise<Connection> {
  const { statementMsMax, onClose } = options;
  return connect({
    client: clientConfig(options),
    settings: {
      timezone: 'UTC',
      datestyle: 'ISO',
      intervalstyle: 'iso_8601',
      bytea_output: 'hex',
      extra_float_digits: '1',
      client_encoding: 'UTF8',
      standard_conforming_strings: 'on',
      default_transaction_read_only: 'on',
      statement_timeout: String(statementMsMax),
      idle_in_transaction_session_timeout: '60000',
    },
    answerMsMax: statementMsMax + 2_000,
    rowBytesMax: foreignRowBytesMax,
    onClose,
  }).catch((error: unknown) => {
    throw openError(error, options.target);
  });
}

/** Exports read for longer than one statement may take, always with the same snapshot. */
const modes = { read: 'isolation level repeatable read read only', write: 'read write' };

function clientConfig({ target, address, connectMsMax }: OpenOptions): ClientConfig {
  const { port, database, username } = target.settings;
  return {
    host: address,
    port,
    database,
    user: username,
    password: target.password,
    ssl: tlsOptions(target),
    application_name: 'svc connector',
    connectionTimeoutMillis: connectMsMax,
  };
}

function tlsOptions({ settings: { tls, host, ca_certificate } }: ConnectorTarget): ClientConfig['ssl'] {
  if (tls === 'disable') return false;
  const ca = ca_certificate === '' ? {} : { ca: ca_certificate };
  // The certificate of a server without a name is for its address, which `pg` passes on.
  const name = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...ca, ...name, rejectUnauthorized: tls !== 'require' };
  return tls === 'verify-full' ? options : { ...options, checkServerIdentity: () => undefined };
}

const relations = `
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
    and has_schema_privilege(n.oid, 'usage')`;

const probeSql = `
  select current_setting('server_version'), current_user::text,
    coalesce((select rolsuper from pg_catalog.pg_roles where rolname = current_user), false)::text,
    exists (select ${relations} and c.relkind in ('r', 'p')
      and has_any_column_privilege(c.oid, 'insert, update') or has_table_privilege(c.oid, 'delete'))::text,
    (select count(*) ${relations} and has_any_column_privilege(c.oid, 'select'))::text`;

/** A domain counts as the type below it. */
const columnsSql = `
  with recursive r as (select c.oid, n.nspname, c.relname, c.relkind ${relations}),
  domains (oid, base) as (
    select oid, typbasetype from pg_catalog.pg_type where typtype = 'd'
    union all
    select d.oid, t.typbasetype from domains d join pg_catalog.pg_type t on t.oid = d.base where t.typtype = 'd'
  )
  select r.nspname, r.relname, case when r.relkind in ('v', 'm') then 'view' else 'table' end,
    a.attname, format_type(a.atttypid, a.atttypmod), base.typname,
    (not a.attnotnull)::text,
    coalesce((select co.collname in ('C', 'POSIX', 'ucs_basic', 'C.UTF-8')
      or (co.oid = 100 and (select datcollate in ('C', 'POSIX') from pg_catalog.pg_database
        where datname = current_database()))
      from pg_catalog.pg_collation co where co.oid = a.attcollation), false)::text,
    (a.atthasdef or a.attidentity <> '')::text,
    (a.attgenerated <> '' or a.attidentity = 'a')::text,
    coalesce((select array_position(i.indkey::int2[], a.attnum) from pg_catalog.pg_index i
      where i.indrelid = r.oid and i.indisprimary), -1)::text
  from r join pg_catalog.pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
    join pg_catalog.pg_type base on base.oid = coalesce((select d.base from domains d
      join pg_catalog.pg_type t on t.oid = d.base where d.oid = a.atttypid and t.typtype <> 'd'), a.atttypid)
  where has_column_privilege(r.oid, a.attnum, 'select')
  order by r.nspname, r.relname, a.attnum`;

function addColumn(tables: Map<string, ForeignTable>, row: string[]): void {
  const [schema = '', table = '', kind, name = '', native_type = '', base = ''] = row;
  const [nullable, hasByteOrder, hasDefault, isGenerated, keyAt] = row.slice(6);
  const found = foreignTable(tables, { schema, table, kind: kind === 'view' ? 'view' : 'table' });
  found.columns.push({
    name,
    ...mapType(base),
    native_type,
    nullable: nullable === 'true',
    has_byte_order: hasByteOrder === 'true',
    has_default: hasDefault === 'true',
    is_generated: isGenerated === 'true',
  });
  const at = Number(keyAt);
  if (at >= 0) found.primary_key[at] = name;
}

const plain = (type: ColumnType): MappedType => ({ type, expression: null });

const mapped: Readonly<Record<string, MappedType>> = {
  int2: plain('int'),
  int4: plain('int'),
  int8: plain('bigint'),
  float4: plain('float'),
  float8: plain('float'),
  // Compared as a double; answers contain all digits, as a string.
  numeric: { type: 'float', expression: null, json: 'integer' },
  bool: plain('bool'),
  text: plain('text'),
  varchar: plain('text'),
  uuid: plain('uuid'),
  date: plain('date'),
  timestamptz: plain('timestamptz'),
  jsonb: plain('jsonb'),
  json: { type: 'jsonb', expression: '$::jsonb' },
};

function mapType(base: string): MappedType {
  return (Object.hasOwn(mapped, base) ? mapped[base] : undefined) ?? { type: 'text', expression: '$::text' };
}
