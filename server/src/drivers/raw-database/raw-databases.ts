import { join } from 'node:path';
import type { Client } from 'pg';
import type { Logger } from 'pino';
import { withClient } from '../database/connect.ts';
import type { Database } from '../database/database.ts';
import {
  closeDatabase,
  closeRole,
  type DatabaseSpec,
  dropDatabase,
  ensureDatabase,
  isForeign,
  openReader,
  type ReaderSpec,
  readerConnectionsMax,
} from './databases.ts';
import { createRawGate, type GateOptions, type RawGate, type Upstream } from './gate.ts';
import {
  embeddedServer,
  externalServer,
  findServerProblem,
  hostAndPort,
  isRawName,
  publicAddress,
  type RawServer,
  readerName,
  type ServerProblem,
} from './server.ts';

export interface RawDatabases {
  findProblem(): Promise<ServerProblem | null>;
  address(): Promise<string>;
  registerLogins(logins: readonly { name: string; connectionsMax: number; isReviewed: boolean }[]): void;
  withLock(name: string, work: (database: LockedDatabase) => Promise<void>): Promise<void>;
  close(): Promise<void>;
  stopNow(): void;
}

interface LockedDatabase {
  ensure(spec: Omit<DatabaseSpec, 'name'>): Promise<void>;
  openReader(spec: Omit<ReaderSpec, 'name'>): Promise<void>;
  closeReader(): Promise<void>;
  close(): Promise<void>;
  drop(): Promise<void>;
}

type GateSettings = Omit<GateOptions, 'upstream' | 'connectionsOf'>;

/** More than PostgreSQL's limit for the role, so that clients get PostgreSQL's own error, and closing connections overlap. */
const spareConnections = 3;
/** Other work on the same database takes seconds. */
const lockMsMaxDefault = 60_000;
/** Dropping a large database waits for a checkpoint. */
const queryMsMax = 5 * 60_000;

export function createRawDatabases({
  server,
  installation,
  gate: gateOptions,
  lockMsMax = lockMsMaxDefault,
}: {
  server: RawServer;
  installation: string;
  gate?: GateSettings | RawGate;
  lockMsMax?: number;
}): RawDatabases {
  const upstream = async () => upstreamAddress(await server.url());
  const gate =
    gateOptions && 'portFile' in gateOptions ? createRawGate({ ...gateOptions, upstream }) : gateOptions;
  const register = (login: { name: string; connectionsMax: number }) =>
    gate?.setLogins({ [login.name]: login.connectionsMax + spareConnections });
  const unregister = (...names: string[]) =>
    gate?.setLogins(Object.fromEntries(names.map((name) => [name, null])));
  return {
    findProblem: async () =>
      server.kind === 'embedded' ? null : withClient(await server.url(), findServerProblem),
    address: async () => {
      if (!gate) return publicAddress(await server.url());
      return `postgresql://127.0.0.1:${await gate.port()}/?sslmode=disable`;
    },
    registerLogins: (logins) => {
      for (const login of logins) {
        register(login);
        if (login.isReviewed)
          register({ name: readerName(login.name), connectionsMax: readerConnectionsMax });
      }
      if (server.exists()) server.url().catch(() => {});
    },
    withLock: async (name, work) => {
      if (!isRawName(name)) throw new Error(`${name} is not a name of a raw database.`);
      const url = await server.url();
      const run = async (admin: Client) => {
        await admin.query(`set lock_timeout = ${lockMsMax}`);
        // Held until the connection closes; all replicas take it in the same database.
        await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]);
        await work({
          ensure: async (spec) => {
            await ensureDatabase(admin, { url, installation }, { ...spec, name });
            register({ name, connectionsMax: spec.connectionsMax });
          },
          openReader: async (spec) => {
            await openReader(admin, { url }, { ...spec, name });
            register({ name: readerName(name), connectionsMax: readerConnectionsMax });
          },
          closeReader: async () => {
            unregister(readerName(name));
            await closeRole(admin, readerName(name));
          },
          close: async () => {
            unregister(name, readerName(name));
            if (!(await isForeign(admin, name, installation))) await closeDatabase(admin, name);
          },
          drop: async () => {
            unregister(name, readerName(name));
            if (!(await isForeign(admin, name, installation))) await dropDatabase(admin, name);
          },
        });
      };
      await withClient(url, run, { queryMsMax });
    },
    close: async () => {
      await gate?.close();
      await server.stop();
    },
    stopNow: () => server.stopNow(),
  };
}

export function upstreamAddress(url: string): Upstream {
  const { host, port } = hostAndPort(url);
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}

/** For all apps together. Less than PostgreSQL's max_connections, so that the platform can always connect. */
const gateConnectionsMax = 100;

export function rawDataDir(dataDir: string): string {
  return join(dataDir, 'raw');
}

export function embeddedRawServer(dataDir: string, log: Logger): RawServer {
  return embeddedServer({
    dataDir: rawDataDir(dataDir),
    log: (line) => log.info({ detail: line }, 'app database server'),
    warn: (line) => log.error({ detail: line }, 'app database server failed'),
  });
}

export function rawGateSettings(dataDir: string, log: Logger): GateSettings {
  return {
    portFile: join(dataDir, 'raw-db.port'),
    connectionsMax: gateConnectionsMax,
    startupMsMax: 10_000,
    log,
  };
}

/** Without SVC_RAW_DATABASE_URL: the external server of the control plane, or a second embedded server. */
export function openRawDatabases(
  { rawDatabaseUrl, dataDir }: { rawDatabaseUrl: string | undefined; dataDir: string },
  { kind, controlUrl }: Pick<Database, 'kind' | 'controlUrl'>,
  {
    installation,
    log,
    supervisor,
  }: {
    installation: string;
    log: Logger;
    supervisor: { rawServer: RawServer; rawGate: RawGate } | null;
  },
): RawDatabases {
  if (rawDatabaseUrl) return createRawDatabases({ installation, server: externalServer(rawDatabaseUrl) });
  if (kind === 'external') return createRawDatabases({ installation, server: externalServer(controlUrl) });
  return createRawDatabases({
    installation,
    server: supervisor?.rawServer ?? embeddedRawServer(dataDir, log),
    gate: supervisor?.rawGate ?? rawGateSettings(dataDir, log),
  });
}
