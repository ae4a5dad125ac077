import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { type IpNetworks, normalizeIp, parseNetworks } from '../../core/ip-networks.ts';
import { fail } from '../../core/problem.ts';
import { lookUpAddresses } from '../os/listen.ts';
import type { QueryResult } from '../row-database/connection.ts';
import { createPool, PoolExhausted } from '../row-database/connection-pool.ts';
import type { AppRows, Transaction } from '../row-database/row-pool.ts';
import { createSharedStatements } from '../row-database/shared-statements.ts';
import { mysqlDriver } from './mysql.ts';
import { postgresDriver } from './postgres.ts';
import {
  ConnectorError,
  type ConnectorTarget,
  type ForeignConnection,
  type ForeignDatabase,
  type ForeignDriver,
  type OpenOptions,
} from './types.ts';

const connectionsMax = 4;
const waitersMax = 32;
const waitMsMax = 5_000;
const connectMsMax = 4_000;
/** After a failure: requests in this time fail at once, instead of waiting for a server that is down. */
const pauseMs = 1_000;
const unusedMsMax = 5 * 60_000;

const drivers: Readonly<Record<ConnectorTarget['kind'], ForeignDriver>> = {
  postgres: postgresDriver,
  mysql: mysqlDriver,
};

export interface ConnectorDatabases {
  /** Connects on first use. Closes connections with other settings of the same connector. */
  of(target: ConnectorTarget): ForeignDatabase;
  close(): void;
}

interface DatabasesOptions {
  networks: ConnectorNetworks;
  statementMsMax: number;
  log: Logger;
}

interface Entry {
  version: number;
  usedAt: number;
  database: ForeignDatabase;
  close(): void;
}

export function createConnectorDatabases(options: DatabasesOptions): ConnectorDatabases {
  const entries = new Map<string, Entry>();
  const timer = setInterval(() => {
    for (const [id, entry] of entries) if (Date.now() - entry.usedAt > unusedMsMax) drop(id, entry);
  }, 30_000);
  timer.unref();

  function drop(id: string, entry: Entry): void {
    entries.delete(id);
    entry.close();
  }

  return {
    of(target) {
      const known = entries.get(target.id);
      if (known && known.version === target.version) {
        known.usedAt = Date.now();
        return known.database;
      }
      // A request that read the settings before they changed does not close what newer ones use.
      if (known && known.version > target.version)
        throw fail('connector_unavailable', { detail: 'The settings have changed. Try again.' });
      if (known) drop(target.id, known);
      const opened = openDatabase(target, options);
      entries.set(target.id, { ...opened, version: target.version, usedAt: Date.now() });
      return opened.database;
    },
    close() {
      clearInterval(timer);
      for (const [id, entry] of entries) drop(id, entry);
    },
  };
}

function openDatabase(target: ConnectorTarget, { networks, statementMsMax, log }: DatabasesOptions) {
  const driver = drivers[target.kind];
  let failed: { until: number; error: unknown } | null = null;
  const connect = async <C>(
    open: (options: OpenOptions) => Promise<C>,
    options: Pick<OpenOptions, 'onClose' | 'statementMsMax'>,
  ): Promise<C> => {
    if (failed && Date.now() < failed.until) throw failed.error;
    try {
      const address = await networks.resolve(target.settings.host, target.settings.port);
      const connection = await open({ target, address, connectMsMax, ...options });
      failed = null;
      return connection;
    } catch (error) {
      failed = { until: Date.now() + pauseMs, error };
      log.warn({ connector: target.id, reason: String(error) }, 'connector cannot connect');
      throw error;
    }
  };
  const { openPipelined } = driver;
  const shared =
    openPipelined &&
    createSharedStatements({
      open: (onClose, statementMsMax) => connect(openPipelined, { onClose, statementMsMax }),
      statementMsMax,
      readConnections: 1,
      writeConnections: 0,
      // Other connections are few, and the way to the server may take long.
      blockedMs: 1_000,
    });
  const pooledMax = shared ? connectionsMax - 1 : connectionsMax;
  const pool = createPool({
    connectionsMax: pooledMax,
    perAppMax: pooledMax,
    waitMsMax,
    waitersMax,
    open: (onClose) => connect(driver.open, { onClose, statementMsMax }),
  });
  const use = <T>(work: (connection: ForeignConnection) => Promise<T>): Promise<T> =>
    pool.use('', work).catch((error: unknown) => {
      throw unavailableError(error) ?? error;
    });

  const rows = (mode: 'read' | 'write'): AppRows => ({
    run: (kind, text, values, receive) => {
      const runAlone = (work: (connection: Pick<ForeignConnection, 'query'>) => Promise<QueryResult>) =>
        pool.use('', work);
      const result =
        shared && mode === 'read' && kind !== 'write'
          ? shared.run({ kind, text, values, receive }, { runAlone })
          : runAlone((connection) => connection.query(text, values, receive?.()));
      return result.catch(throwForRows);
    },
    transaction: (work) => {
      const result = pool.use('', async (connection) => {
        await connection.begin(mode);
        let isFinished = false;
        try {
          const { end, value } = await work(transactionOn(connection));
          await connection.query(end, []);
          isFinished = true;
          return value;
        } finally {
          if (!isFinished) await connection.query('rollback', []).catch(() => connection.close());
        }
      });
      return result.catch(throwForRows);
    },
  });

  const database: ForeignDatabase = {
    reading: rows('read'),
    writing: rows('write'),
    probe: () =>
      use(async (connection) => {
        const startedAt = performance.now();
        await connection.query('select 1', []);
        const latency_ms = Math.round((performance.now() - startedAt) * 100) / 100;
        return { ...(await driver.probe(connection)), latency_ms, tls: connection.tls };
      }),
    listTables: () => use((connection) => driver.listTables(connection)),
  };
  const close = () => {
    shared?.close();
    pool.close();
  };
  return { database, close };
}

/** Readers of rows must not learn the address of the server. */
function throwForRows(error: unknown): never {
  const known = unavailableError(error);
  if (known?.cause instanceof ConnectorError)
    throw fail('connector_unavailable', { detail: 'The data source does not answer.' }, { cause: known });
  throw known ?? error;
}

function transactionOn({ query, cursor }: ForeignConnection): Transaction {
  return {
    query,
    cursor,
    copy: () => Promise.reject(new Error('A connector takes no COPY.')),
  };
}

function unavailableError(cause: unknown) {
  if (cause instanceof PoolExhausted)
    return fail('connector_unavailable', {
      detail: 'Too many requests wait for the data source. Try again.',
    });
  if (cause instanceof ConnectorError)
    return fail('connector_unavailable', { detail: cause.message }, { cause });
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  // 08 connection, 28 login, 3D000 database, 53 resources, 57P shutdown; the others are of sockets and of mysql2.
  if (/^(08|28|3D000|53|57P)|^E[A-Z]{4,}|^PROTOCOL_/.test(code))
    return fail(
      'connector_unavailable',
      { detail: 'The connection to the data source was lost.' },
      { cause },
    );
  return null;
}

interface ConnectorNetworks {
  /** The address to connect to. The name is resolved once: what is checked is what is used. */
  resolve(host: string, port: number): Promise<string>;
}

interface NetworksOptions {
  allowed: IpNetworks | null;
  /** URLs of the platform's own databases, which no connector may open. */
  ownDatabases: readonly string[];
  lookUp?: (host: string) => Promise<string[]>;
}

/** This machine, link-local, multicast and reserved ranges; the last line has other metadata services of clouds. */
const closedByDefault = parseNetworks(
  [
    ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3', '192.0.0.0/24'],
    ['::/127', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
    ['fd00:ec2::/32', '100.100.100.200', '168.63.129.16'],
  ]
    .flat()
    .join(','),
);

export function createConnectorNetworks(options: NetworksOptions): ConnectorNetworks {
  const lookUp = options.lookUp ?? lookUpAddresses;
  const isOpen = (address: string) =>
    options.allowed ? options.allowed.includes(address) : !closedByDefault.includes(address);

  async function isOwnDatabase(address: string, port: number): Promise<boolean> {
    for (const url of options.ownDatabases) {
      const own = URL.parse(url);
      const host = own?.searchParams.get('host') ?? own?.hostname.replace(/^\[|\]$/g, '') ?? '';
      // At a Unix socket it has no address.
      if (!own || host.startsWith('/')) continue;
      if (Number(own.searchParams.get('port') ?? (own.port || 5432)) !== port) continue;
      const addresses = isIP(host) ? [host] : await lookUp(host);
      if (addresses.some((each) => normalizeIp(each) === address)) return true;
      // A server on this machine usually listens at each of its loopback addresses.
      if (isLoopback(address) && addresses.some(isLoopback)) return true;
    }
    return false;
  }

  return {
    async resolve(host, port) {
      const found = isIP(host) ? [host] : await lookUp(host);
      if (found.length === 0) throw new ConnectorError(`The name ${host} has no address.`);
      for (const each of found) {
        const address = normalizeIp(each);
        if (address === null || !isOpen(address)) continue;
        if (await isOwnDatabase(address, port))
          throw new ConnectorError('A connector cannot open the database of the platform itself.');
        return address;
      }
      throw new ConnectorError(
        `The address of ${host} is in a network that connectors may not use. The operator can allow it with SVC_CONNECTOR_NETWORKS.`,
      );
    },
  };
}

const isLoopback = (address: string) => /^127\.|^::1$/.test(address);
