import pg from 'pg';
import type { Logger } from 'pino';
import { openControlDatabase } from '../../core/db.ts';
import type { RowDatabase } from '../../core/mutation.ts';
import { turnNow } from '../../core/values.ts';
import type { Database } from '../database/database.ts';
import {
  type Connection,
  type CopyData,
  connect,
  type OnRow,
  type QueryResult,
  type Values,
} from './connection.ts';
import { createPool } from './connection-pool.ts';
import { createSharedStatements, type RunOptions } from './shared-statements.ts';

export interface RowPool {
  /** Statements of one tenant do not delay those of others. */
  of(app: string, tenant?: string): AppRows;
  /** Opens the connection of reads of one row, for which the first ones would wait. */
  open(): Promise<void>;
  close(): void;
}

export interface AppRows {
  /** `receive` is called for each attempt: a slow statement is run again from its start. */
  run(kind: StatementKind, text: string, values: Values, receive?: () => OnRow): Promise<QueryResult>;
  transaction<T>(work: (tx: Transaction) => Promise<{ end: 'commit' | 'rollback'; value: T }>): Promise<T>;
}

/** All but `write` may share a transaction with statements of others. `insert`: one row. `point`: a read that is usually fast. */
export type StatementKind = 'point' | 'read' | 'write' | 'insert';

export interface Transaction {
  query(text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  copy(text: string, data: CopyData): Promise<void>;
  cursor(text: string, values: Values): Promise<Cursor>;
}

export interface Cursor {
  fetch(rowsMax: number, onRow: OnRow): Promise<void>;
}

export interface RowPoolOptions {
  url: string;
  statementMsMax: number;
  transactionStatementMsMax: number;
  waitMsMax?: number;
}

const pooledMax = 16;
const pooledPerAppMax = 8;

export function createRowPool(options: RowPoolOptions): RowPool {
  const open = (onClose: () => void, statementMsMax: number, answerMsMax: number) =>
    connect({
      url: options.url,
      settings: {
        timezone: 'UTC',
        datestyle: 'ISO',
        jit: 'off',
        statement_timeout: String(statementMsMax),
        idle_in_transaction_session_timeout: '60000',
      },
      answerMsMax,
      onClose,
    });
  const shared = createSharedStatements({
    open: async (onClose, statementMsMax) => {
      const connection = await open(onClose, statementMsMax, statementMsMax + 2_000);
      try {
        // Workers of Citus commit a statement outside a transaction block at once.
        const citus = await connection.query(`select from pg_extension where extname = 'citus'`, []);
        if (citus.rows.length > 0) connection.queryInGroup = connection.query;
        return connection;
      } catch (error) {
        connection.close();
        throw error;
      }
    },
    statementMsMax: options.statementMsMax,
    // On few cores one connection for reads is faster than several; writes wait for the disk, in parallel.
    readConnections: 1,
    writeConnections: 8,
    blockedMs: 50,
  });
  const pool = createPool({
    connectionsMax: pooledMax,
    perAppMax: pooledPerAppMax,
    waitMsMax: options.waitMsMax ?? 5_000,
    open: (onClose) => open(onClose, options.statementMsMax, options.transactionStatementMsMax + 2_000),
  });
  const tenantLimit = createTenantLimit();
  const transaction = <T>(
    app: string,
    work: (tx: Transaction) => Promise<{ end: 'commit' | 'rollback'; value: T }>,
  ): Promise<T> =>
    pool.use(app, async (connection) => {
      await connection.query('begin', []);
      let isFinished = false;
      try {
        const { end, value } = await work(withCursor(connection));
        await connection.query(end, []);
        isFinished = true;
        return value;
      } finally {
        // Awaited, so that the next user gets a connection without an open transaction.
        if (!isFinished) await connection.query('rollback', []).catch(() => connection.close());
      }
    });

  return {
    of(app, tenant = app) {
      const options: RunOptions = {
        share: (work) => tenantLimit.run(tenant, work),
        runAlone: (work) => pool.use(app, work),
      };
      return {
        run: (kind, text, values, receive) => shared.run({ kind, text, values, receive }, options),
        transaction: (work) => transaction(app, work),
      };
    },
    open: shared.openReads,
    close() {
      shared.close();
      pool.close();
    },
  };
}

/** A cursor of SQL, which ends with the transaction. */
export function withCursor(connection: Pick<Connection, 'query' | 'copy'>): Transaction {
  return {
    query: connection.query,
    copy: connection.copy,
    async cursor(text, values) {
      await connection.query(`declare fetched no scroll cursor for ${text}`, values);
      return {
        fetch: async (rowsMax, onRow) =>
          void (await connection.query(`fetch ${rowsMax} from fetched`, [], onRow)),
      };
    },
  };
}

/** Statements of all tenants at a time, while several tenants send some. */
const inFlightMax = 64;
const perTenantMin = 4;
const recentMs = 1_000;

interface Tenant {
  inFlight: number;
  usedAt: number;
  waiting: (() => void)[];
}

interface TenantLimit {
  run<T>(tenant: string, work: () => Promise<T>): Promise<T>;
}

/** Shared connections answer in order: active tenants share them equally; a single tenant has no limit. */
export function createTenantLimit(now = turnNow): TenantLimit {
  const tenants = new Map<string, Tenant>();
  let countedAt = now();

  function count(at: number): void {
    if (at - countedAt < recentMs) return;
    countedAt = at;
    for (const [id, { inFlight, usedAt }] of tenants)
      if (inFlight === 0 && at - usedAt >= recentMs) tenants.delete(id);
  }

  const perTenantMax = () =>
    tenants.size <= 1
      ? Number.POSITIVE_INFINITY
      : Math.max(perTenantMin, Math.floor(inFlightMax / tenants.size));

  function find(id: string, at: number): Tenant {
    const known = tenants.get(id);
    if (known) return known;
    const tenant = { inFlight: 0, usedAt: at, waiting: [] };
    tenants.set(id, tenant);
    return tenant;
  }

  return {
    async run(id, work) {
      const at = now();
      count(at);
      const tenant = find(id, at);
      tenant.usedAt = at;
      if (tenant.inFlight >= perTenantMax() || tenant.waiting.length > 0)
        await new Promise<void>((resolve) => tenant.waiting.push(resolve));
      else tenant.inFlight++;
      try {
        return await work();
      } finally {
        // Starts the next queued statement, and more if the limit has grown because tenants left.
        tenant.inFlight--;
        while (tenant.waiting.length > 0 && tenant.inFlight < perTenantMax()) {
          tenant.inFlight++;
          tenant.waiting.shift()?.();
        }
      }
    },
  };
}

const rowConnectionsMax = 5;

export function openRowDatabase(
  { dataDatabaseUrl }: { dataDatabaseUrl: string | undefined },
  database: Pick<Database, 'rowsUrl'>,
  log: Logger,
): RowDatabase & { close(): Promise<void> } {
  if (!dataDatabaseUrl) return { ...rowDatabaseInControl(database.rowsUrl), close: async () => {} };
  const { db, close } = openControlDatabase(dataDatabaseUrl, {
    connectionsMax: rowConnectionsMax,
    onError: (error) => log.warn({ err: error }, 'idle connection to the row database lost'),
  });
  return { db, role: null, close };
}

export function rowDatabaseInControl(rowsUrl: string): RowDatabase {
  return { db: null, role: new pg.Client({ connectionString: rowsUrl }).user ?? null };
}
