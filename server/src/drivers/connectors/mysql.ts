import { connect as connectTcp } from 'node:net';
import type { ColumnType } from '@svc/contract/columns.ts';
import type { Connection as MysqlConnection, SslOptions } from 'mysql2';
import mysql from 'mysql2';
import { ConnectionLost, type OnRow, type QueryResult, type Values } from '../row-database/connection.ts';
import { RowTooLarge } from '../row-database/messages.ts';
import type { Cursor } from '../row-database/row-pool.ts';
import {
  encodeRow,
  largestMysqlValue,
  mysqlError,
  numberedToPositional,
  onLargeRow,
  refuseLargeRows,
} from './mysql-values.ts';
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

export const mysqlDriver: ForeignDriver = {
  async open(options) {
    const client = await connectClient(options);
    let open = true;
    const onLost = () => {
      if (!open) return;
      open = false;
      client.destroy();
      options.onClose();
    };
    client.on('error', onLost);
    client.on('end', onLost);
    refuseLargeRows(client, onLost);
    const run = (text: string, values: Values, onRow?: OnRow) =>
      runStatement(client, text, values, onRow).catch((error: unknown) => {
        if (error instanceof Error && 'fatal' in error && error.fatal === true) onLost();
        throw mysqlError(error);
      });
    const runWithTimeout = (text: string, values: Values, onRow?: OnRow) =>
      withTimeout(run(text, values, onRow), options.statementMsMax + 2_000, onLost);
    const tls = await prepareSession(runWithTimeout, options).catch((error: unknown) => {
      onLost();
      throw openError(error, options.target);
    });
    let openCursors = 0;
    return {
      query(text, values, onRow) {
        if (openCursors === 0) return runWithTimeout(text, values, onRow);
        // The rest of an abandoned result would have to be read first.
        onLost();
        return Promise.reject(new ConnectionLost());
      },
      async cursor(text, values) {
        const cursor = await openCursor(client, text, values, runWithTimeout, () => void openCursors--);
        openCursors++;
        return cursor;
      },
      begin: async (mode) => void (await runWithTimeout(`start transaction ${modes[mode]}`, [])),
      tls,
      get isOpen() {
        return open;
      },
      close: onLost,
    };
  },

  async probe({ query }) {
    const { rows } = await query('select version(), current_user()', []);
    const [version = '', username = ''] = rows[0] ?? [];
    const grants = (await query('show grants', [])).rows.map(([line]) => line ?? '');
    const tables = (await query(`select count(*) from information_schema.tables where ${isUserTable}`, []))
      .rows;
    const writes = /^GRANT [^;]*?\b(ALL PRIVILEGES|INSERT|UPDATE|DELETE)\b.* ON /;
    return {
      server: /mariadb/i.test(version ?? '') ? 'MariaDB' : 'MySQL',
      version: version ?? '',
      login: {
        username: username ?? '',
        is_superuser: grants.some((line) => /^GRANT (.*\bSUPER\b.*|ALL PRIVILEGES) ON \*\.\*/.test(line)),
        can_write: grants.some((line) => writes.test(line)),
        tables: Number(tables[0]?.[0] ?? 0),
      },
    };
  },

  async listTables({ query }) {
    const tables = new Map<string, ForeignTable>();
    for (const row of (await query(columnsSql, [])).rows) addColumn(tables, row);
    return [...tables.values()];
  },
};

/** A snapshot, so that an export is of one moment. */
const modes = { read: 'with consistent snapshot, read only', write: 'read write' };

function connectClient(options: OpenOptions): Promise<MysqlConnection> {
  const { target, address, connectMsMax } = options;
  const { host, port, database, username } = target.settings;
  const ssl = tlsOptions(target);
  const client = mysql.createConnection({
    // The name is for the certificate only: the stream goes to the checked address.
    host,
    stream: () => connectTcp({ host: address, port, keepAlive: true, noDelay: true }),
    user: username,
    password: target.password,
    database,
    charset: 'utf8mb4',
    connectTimeout: connectMsMax,
    ...(ssl ? { ssl } : {}),
    rowsAsArray: true,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    jsonStrings: true,
    maxPreparedStatements: 200,
    // Neither a file of this machine nor a second statement in one text.
    flags: ['-LOCAL_FILES'],
    infileStreamFactory: () => {
      throw new Error('LOCAL INFILE is not supported.');
    },
    multipleStatements: false,
    ...(ssl ? {} : { authPlugins: { mysql_clear_password: refuseClearPassword } }),
  });
  return new Promise((resolve, reject) => {
    client.once('error', (error) => reject(openError(error, target)));
    client.connect((error) => {
      if (!error) return resolve(client);
      client.destroy();
      reject(openError(error, target));
    });
  });
}

/** A password goes out in the clear only through TLS. */
const refuseClearPassword = () => () => {
  throw new Error('The server asks for the password in the clear, which needs TLS.');
};

function tlsOptions({ settings: { tls, ca_certificate } }: ConnectorTarget): SslOptions | null {
  if (tls === 'disable') return null;
  return {
    ...(ca_certificate === '' ? {} : { ca: ca_certificate }),
    rejectUnauthorized: tls !== 'require',
    verifyIdentity: tls === 'verify-full',
  };
}

type Run = (text: string, values: Values, onRow?: OnRow) => Promise<QueryResult>;

/** Returns the version of TLS. Quotes mean identifiers, a backslash itself, and the time is UTC, as with PostgreSQL. */
async function prepareSession(run: Run, { statementMsMax }: OpenOptions): Promise<string> {
  await run(
    "set session sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_ALL_TABLES'",
    [],
  );
  await run("set session time_zone = '+00:00'", []);
  await run('set session transaction read only', []);
  const version = (await run('select version()', [])).rows[0]?.[0] ?? '';
  // MariaDB counts in seconds, for every statement; MySQL in milliseconds, for reads.
  if (/mariadb/i.test(version)) await run(`set session max_statement_time = ${statementMsMax / 1000}`, []);
  else await run(`set session max_execution_time = ${statementMsMax}`, []);
  return (await run("show session status like 'Ssl_version'", [])).rows[0]?.[1] ?? '';
}

function runStatement(
  client: MysqlConnection,
  text: string,
  values: Values,
  onRow: OnRow | undefined,
): Promise<QueryResult> {
  const rows: (string | null)[][] = [];
  return new Promise((resolve, reject) => {
    let failed: unknown = null;
    const command = startCommand(client, text, values);
    command.on('result', (row: unknown, at: number) => {
      if (!Array.isArray(row) || failed !== null) return;
      try {
        const encoded = encodeRow(row, command.columns(at));
        if (onRow) onRow(encoded.bytes(), 0);
        else rows.push(encoded.texts);
      } catch (error) {
        failed = error;
      }
    });
    command.on('error', reject);
    command.on('end', () => (failed === null ? resolve({ rows }) : reject(failed)));
  });
}

interface Command {
  on(event: 'result', listener: (row: unknown, at: number) => void): void;
  on(event: 'error', listener: (error: unknown) => void): void;
  on(event: 'end', listener: () => void): void;
  columns(at: number): readonly number[];
}

/** Statements with values are prepared: values never become part of the text. */
function startCommand(client: MysqlConnection, text: string, values: Values): Command {
  const { sql, order } = numberedToPositional(text);
  const bound = order.map((at) => values[at] ?? null);
  const command = bound.length === 0 ? client.query(sql) : client.execute(sql, bound);
  const types: number[][] = [];
  command.on('fields', (fields: readonly { columnType?: number }[] | undefined) => {
    if (fields) types.push(fields.map(({ columnType }) => columnType ?? 0));
  });
  onLargeRow.set(client, (row) => {
    const value = largestMysqlValue(row, types.at(-1) ?? [], bound.length > 0);
    command.emit('error', new RowTooLarge(value, foreignRowBytesMax));
  });
  return {
    on: (event: string, listener: (...args: never[]) => void) => void command.on(event, listener as never),
    columns: (at) => types[at] ?? types[0] ?? [],
  };
}

const exportSecondsMax = 30 * 60;

async function openCursor(
  client: MysqlConnection,
  text: string,
  values: Values,
  run: Run,
  onEnd: () => void,
): Promise<Cursor> {
  const isMariaDb = /mariadb/i.test((await run('select version()', [])).rows[0]?.[0] ?? '');
  const limit = isMariaDb ? 'max_statement_time' : 'max_execution_time';
  const saved = (await run(`select @@session.${limit}`, [])).rows[0]?.[0] ?? '0';
  await run(`set session ${limit} = ${isMariaDb ? exportSecondsMax : exportSecondsMax * 1000}`, []);
  const waiting: Buffer[] = [];
  let state: 'running' | 'ended' | { error: unknown } = 'running';
  let wake: (() => void) | null = null;
  let requestedRows = 0;
  let isEnded = false;
  const command = startCommand(client, text, values);
  client.pause();
  const wakeReader = () => {
    wake?.();
    wake = null;
  };
  command.on('result', (row, at) => {
    if (!Array.isArray(row)) return;
    waiting.push(encodeRow(row, command.columns(at)).bytes());
    if (waiting.length < requestedRows) return;
    client.pause();
    wakeReader();
  });
  command.on('error', (error) => {
    state = { error: mysqlError(error) };
    wakeReader();
  });
  command.on('end', () => {
    if (state === 'running') state = 'ended';
    wakeReader();
  });
  return {
    async fetch(rowsMax, onRow) {
      requestedRows = rowsMax;
      while (waiting.length < rowsMax && state === 'running') {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        client.resume();
        await promise;
      }
      if (isEnded) return;
      if (typeof state === 'object') throw state.error;
      for (const bytes of waiting.splice(0, rowsMax)) onRow(bytes, 0);
      if (state !== 'ended' || waiting.length > 0) return;
      await run(`set session ${limit} = ${Number(saved)}`, []);
      isEnded = true;
      onEnd();
    },
  };
}

/** The server's own limit is shorter: this one finds a network that drops packets silently. */
async function withTimeout<T>(work: Promise<T>, ms: number, onTimeout: () => void): Promise<T> {
  const timer = setTimeout(onTimeout, ms);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

const isUserTable = "table_schema not in ('information_schema', 'performance_schema', 'mysql', 'sys')";

const columnsSql = `
  select c.table_schema, c.table_name, t.table_type, c.column_name, c.column_type, c.data_type, c.is_nullable,
    coalesce(c.character_set_name, ''), c.column_default is not null or c.extra like '%auto_increment%',
    c.extra like '%GENERATED%' or c.extra like '%VIRTUAL%', coalesce(k.seq_in_index, 0)
  from information_schema.columns c
    join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
    left join information_schema.statistics k on k.table_schema = c.table_schema and k.table_name = c.table_name
      and k.column_name = c.column_name and k.index_name = 'PRIMARY'
  where c.${isUserTable} and t.table_type in ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')
  order by c.table_schema, c.table_name, c.ordinal_position`;

function addColumn(tables: Map<string, ForeignTable>, row: readonly (string | null)[]): void {
  const [
    schema,
    table,
    tableType,
    name,
    nativeType,
    dataType,
    nullable,
    charset,
    hasDefault,
    generated,
    keyAt,
  ] = row.map((value) => value ?? '');
  if (schema === undefined || table === undefined || name === undefined) return;
  const found = foreignTable(tables, { schema, table, kind: tableType === 'VIEW' ? 'view' : 'table' });
  found.columns.push({
    name,
    ...mapType(dataType ?? '', nativeType ?? ''),
    native_type: nativeType ?? '',
    nullable: nullable === 'YES',
    has_byte_order: charset === '',
    has_default: hasDefault === '1',
    is_generated: generated === '1',
  });
  if (Number(keyAt) > 0) found.primary_key[Number(keyAt) - 1] = name;
}

const plain = (type: ColumnType): MappedType => ({ type, expression: null });
const number: MappedType = { type: 'float', expression: null, json: 'integer' };
const bytes: MappedType = { type: 'text', expression: "concat('\\x', lower(hex($)))" };

const mapped: Readonly<Record<string, MappedType>> = {
  tinyint: plain('int'),
  smallint: plain('int'),
  mediumint: plain('int'),
  int: plain('int'),
  bigint: plain('bigint'),
  float: plain('float'),
  double: plain('float'),
  decimal: number,
  year: plain('int'),
  char: plain('text'),
  varchar: plain('text'),
  tinytext: plain('text'),
  text: plain('text'),
  mediumtext: plain('text'),
  longtext: plain('text'),
  date: plain('date'),
  // Stored in UTC; a `datetime` has no zone and is a text.
  timestamp: plain('timestamptz'),
  uuid: plain('uuid'),
  json: plain('jsonb'),
  binary: bytes,
  varbinary: bytes,
  tinyblob: bytes,
  blob: bytes,
  mediumblob: bytes,
  longblob: bytes,
  bit: { type: 'bigint', expression: '$ + 0' },
};

function mapType(dataType: string, nativeType: string): MappedType {
  if (nativeType === 'tinyint(1)') return plain('bool');
  if (dataType === 'bigint' && nativeType.includes('unsigned')) return number;
  if (dataType === 'int' && nativeType.includes('unsigned')) return plain('bigint');
  const known = Object.hasOwn(mapped, dataType) ? mapped[dataType] : undefined;
  return known ?? { type: 'text', expression: 'convert(cast($ as char) using utf8mb4)' };
}
