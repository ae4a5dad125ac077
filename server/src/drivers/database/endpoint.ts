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
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseError } from './database-error.ts';

/** Where the embedded PostgreSQL listens. */
export type Endpoint = { kind: 'socket'; folder: string; port: number } | { kind: 'tcp'; port: number };

// Linux takes 107 bytes, macOS 103.
const socketPathBytesMax = 100;
// With sockets it is only a part of the socket's name.
const socketPort = 5432;

/** A folder of its own per data dir: two servers never meet, and nobody else reaches the socket. */
export function socketEndpoint(dataDir: string): Endpoint {
  const inside = { kind: 'socket', folder: join(dataDir, 'run'), port: socketPort } as const;
  if (Buffer.byteLength(socketPath(inside)) <= socketPathBytesMax) return inside;
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return { ...inside, folder: join(tmpdir(), `svc-postgres-${hash}`) };
}

/** For systems without sockets that have permissions: a port on the loopback address, kept while it is free. */
export async function tcpEndpoint(dataDir: string): Promise<Endpoint> {
  const path = join(dataDir, 'postgres.port');
  const kept = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
  const port = (await freePort(kept)) ?? (await freePort(0));
  if (!port) throw new DatabaseError('start_failed', 'No free TCP port on 127.0.0.1.');
  if (port !== kept) writeFileSync(path, String(port));
  return { kind: 'tcp', port };
}

export function prepareSocketFolder(
  folder: string,
  owner: { uid: number; gid: number; foreign: boolean },
): void {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  const found = lstatSync(folder);
  const trusted = [process.getuid?.(), owner.uid];
  // The system's temp folder is open to all: another user could have made this one first to stand in between.
  if (!found.isDirectory() || !trusted.includes(found.uid)) {
    throw new DatabaseError(
      'unsafe_socket_dir',
      `${folder} is not a folder of ours: remove it and start again.`,
    );
  }
  if (owner.foreign) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
}

/** Not to litter the system's temp folder; one that is not empty is in use again, or not ours to empty. */
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
  // The host name in front is there for URL parsers, which refuse a login without one; `host` overrides it.
  const folder = encodeURIComponent(endpoint.folder);
  return `${base('localhost')}?host=${folder}&port=${endpoint.port}&sslmode=disable`;
}

/** Whether any process at all accepts connections there. */
export function answers(endpoint: Endpoint): Promise<boolean> {
  const address =
    endpoint.kind === 'tcp' ? { host: '127.0.0.1', port: endpoint.port } : { path: socketPath(endpoint) };
  return new Promise((resolve) => {
    const socket = createConnection(address);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

function freePort(wanted: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(wanted, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : null));
    });
  });
}
