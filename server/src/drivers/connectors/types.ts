import type { ColumnType, JsonKind } from '@svc/contract/columns.ts';
import type { DatabaseKind, TlsMode } from '@svc/contract/connectors.ts';
import type { Connection, OnRow, QueryResult, Values } from '../row-database/connection.ts';
import type { AppRows, Cursor } from '../row-database/row-pool.ts';

/** Limit of a row that is read: as much as a request may send, and the size of one packet of MySQL. */
export const foreignRowBytesMax = 16 * 1024 * 1024 - 1;

export interface ConnectorTarget {
  id: string;
  /** Another version has other settings: connections are not shared between versions. */
  version: number;
  kind: DatabaseKind;
  settings: ConnectorSettings;
  password: string;
}

interface ConnectorSettings {
  host: string;
  port: number;
  database: string;
  username: string;
  tls: TlsMode;
  ca_certificate: string;
}

/** One session of the foreign server, in UTC, read-only unless a transaction for writing is open. */
export interface ForeignConnection {
  query(text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  cursor(text: string, values: Values): Promise<Cursor>;
  begin(mode: 'read' | 'write'): Promise<void>;
  readonly tls: string;
  readonly isOpen: boolean;
  close(): void;
}

export interface OpenOptions {
  target: ConnectorTarget;
  address: string;
  statementMsMax: number;
  connectMsMax: number;
  onClose: () => void;
}

export interface ForeignDriver {
  open(options: OpenOptions): Promise<ForeignConnection>;
  openPipelined?: (options: OpenOptions) => Promise<Connection>;
  probe(connection: ForeignConnection): Promise<Omit<ForeignServer, 'tls' | 'latency_ms'>>;
  listTables(connection: ForeignConnection): Promise<ForeignTable[]>;
}

export interface ForeignServer {
  server: string;
  version: string;
  latency_ms: number;
  tls: string;
  login: { username: string; is_superuser: boolean; can_write: boolean; tables: number };
}

export interface ForeignTable {
  schema: string;
  name: string;
  kind: 'table' | 'view';
  columns: ForeignColumn[];
  primary_key: string[];
}

export function foreignTable(
  tables: Map<string, ForeignTable>,
  { schema, table, kind }: Pick<ForeignTable, 'schema' | 'kind'> & { table: string },
): ForeignTable {
  const key = JSON.stringify([schema, table]);
  const found = tables.get(key) ?? { schema, name: table, kind, columns: [], primary_key: [] };
  tables.set(key, found);
  return found;
}

export interface MappedType {
  type: ColumnType;
  /** SQL over the column, `$`, that gives a value of the type; null if the column itself does. */
  expression: string | null;
  json?: JsonKind;
}

export interface ForeignColumn extends MappedType {
  name: string;
  native_type: string;
  nullable: boolean;
  /** Whether texts are ordered and compared by their bytes. */
  has_byte_order: boolean;
  has_default: boolean;
  is_generated: boolean;
}

export interface ForeignDatabase {
  reading: AppRows;
  writing: AppRows;
  probe(): Promise<ForeignServer>;
  listTables(): Promise<ForeignTable[]>;
}

/** Why a connection cannot be opened, for admins: without values of settings that are secret. */
export class ConnectorError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConnectorError';
  }
}

/** Only what an admin can act on. The message of the server is not repeated: it may contain more than they may know. */
export function openError(cause: unknown, { settings }: ConnectorTarget): ConnectorError {
  const { host, port, database, username } = settings;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const message = cause instanceof Error ? cause.message : '';
  const text = (() => {
    if (/^28|ER_ACCESS_DENIED/.test(code)) return `The server refused the login of ${username}.`;
    if (/^3D000|ER_BAD_DB|ER_DBACCESS/.test(code)) return `The login cannot open the database ${database}.`;
    if (code === 'ECONNREFUSED') return `Nothing listens at ${host}:${port}.`;
    if (/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(code) || /timeout/i.test(message))
      return `${host}:${port} does not answer.`;
    if (/does not support SSL|HANDSHAKE_NO_SSL/i.test(`${code} ${message}`))
      return 'The server does not support TLS. Use tls disable only in a network that you trust.';
    if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|certificate/i.test(`${code} ${message}`))
      return `The certificate of ${host} cannot be verified. Set the CA certificate, or the host name that it is for.`;
    if (/too many/i.test(message) || code.startsWith('53')) return 'The server accepts no more connections.';
    return `The connection to ${host}:${port} failed.`;
  })();
  return new ConnectorError(text, { cause });
}
