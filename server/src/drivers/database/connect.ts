import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { keepAlive } from '../../core/db.ts';
import { isListening, socketPathBytesMax } from '../os/listen.ts';

export interface Database {
  kind: 'embedded' | 'external';
  controlUrl: string;
  rowsUrl: string;
  adminUrl: string | null;
  stop(): Promise<void>;
  stopNow(): void;
  exited: Promise<void>;
}

type DatabaseErrorCode =
  | 'data_dir_in_use'
  | 'busy'
  | 'running_elsewhere'
  | 'no_binaries'
  | 'no_account'
  | 'no_setpriv'
  | 'foreign_owner'
  | 'wrong_major_version'
  | 'not_a_cluster'
  | 'credentials_lost'
  | 'unsafe_socket_dir'
  | 'init_failed'
  | 'start_failed'
  | 'stop_failed'
  | 'bad_url'
  | 'unreachable'
  | 'server_too_old'
  | 'may_not_create_roles'
  | 'rows_login_failed';

export class DatabaseError extends Error {
  constructor(
    readonly code: DatabaseErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'DatabaseError';
  }
}

const queryMsMaxDefault = 60_000;

/** `none`: for statements whose time depends on the size of the data. Keep-alive then finds a connection that is dead. */
export async function withClient<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  { queryMsMax = queryMsMaxDefault }: { queryMsMax?: number | 'none' } = {},
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: queryMsMax === 'none' ? undefined : queryMsMax,
    ...keepAlive,
  });
  // The running query fails with the same error; without a listener the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

export type Endpoint = { kind: 'socket'; folder: string; port: number } | { kind: 'tcp'; port: number };

const socketPort = 5432;

/** One private folder per data dir: two servers never collide, and no other user can open the socket. */
export function socketEndpoint(dataDir: string): Endpoint {
  const inside = { kind: 'socket', folder: join(dataDir, 'run'), port: socketPort } as const;
  if (Buffer.byteLength(socketPath(inside)) <= socketPathBytesMax) return inside;
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return { ...inside, folder: join(tmpdir(), `svc-postgres-${hash}`) };
}

export async function tcpEndpoint(dataDir: string): Promise<Endpoint> {
  const path = join(dataDir, 'postgres.port');
  const stored = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
  const port = (await findFreePort(stored)) ?? (await findFreePort(0));
  if (!port) throw new DatabaseError('start_failed', 'No free TCP port on 127.0.0.1.');
  if (port !== stored) writeFileSync(path, String(port));
  return { kind: 'tcp', port };
}

export function prepareSocketFolder(
  folder: string,
  owner: { uid: number; gid: number; isOtherUser: boolean },
): void {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  const found = lstatSync(folder);
  const trusted = [process.getuid?.(), owner.uid];
  // Every user can write to the system's temp folder: another one could have created this folder first.
  const text = `${folder} belongs to another user. Remove it and start again.`;
  if (!found.isDirectory() || !trusted.includes(found.uid))
    throw new DatabaseError('unsafe_socket_dir', text);
  if (owner.isOtherUser) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
}

export function removeSocketFolder(endpoint: Endpoint): void {
  if (endpoint.kind !== 'socket') return;
  try {
    rmdirSync(endpoint.folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
  }
}

export function socketPath(endpoint: { folder: string; port: number }): string {
  return join(endpoint.folder, `.s.PGSQL.${endpoint.port}`);
}

export function connectionUrl(
  endpoint: Endpoint,
  login: { user: string; password: string; database: string },
): string {
  const credentials = `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}`;
  const base = (address: string) =>
    `postgresql://${credentials}@${address}/${encodeURIComponent(login.database)}`;
  if (endpoint.kind === 'tcp') return `${base(`127.0.0.1:${endpoint.port}`)}?sslmode=disable`;
  // URL parsers reject a login without a host name; the `host` parameter overrides it.
  const folder = encodeURIComponent(endpoint.folder);
  return `${base('localhost')}?host=${folder}&port=${endpoint.port}&sslmode=disable`;
}

export function acceptsConnections(endpoint: Endpoint): Promise<boolean> {
  return isListening(
    endpoint.kind === 'tcp' ? { host: '127.0.0.1', port: endpoint.port } : { path: socketPath(endpoint) },
  );
}

function findFreePort(preferred: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(preferred, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : null));
    });
  });
}
