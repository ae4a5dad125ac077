import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface ProviderSocket {
  path: string;
  close(): Promise<void>;
}

// Linux takes 107 bytes, macOS 103.
const pathBytesMax = 100;
const socketName = 'oauth.sock';

/** Serves a Node handler where only this user's processes reach it. */
export async function listenOnSocket(dataDir: string, listener: RequestListener): Promise<ProviderSocket> {
  const { path, temporary } = await freePath(dataDir);
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
  return {
    path,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      rmSync(temporary ? dirname(path) : path, { recursive: true, force: true });
    },
  };
}

/** In the data dir; where its path is too long for a socket, or another server listens there, in a folder of its own. */
async function freePath(dataDir: string): Promise<{ path: string; temporary: boolean }> {
  const path = join(dataDir, 'run', socketName);
  if (Buffer.byteLength(path) <= pathBytesMax && !(await answers(path))) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // Left behind by a server that was killed.
    rmSync(path, { force: true });
    return { path, temporary: false };
  }
  return { path: join(mkdtempSync(join(tmpdir(), 'svc-oauth-')), socketName), temporary: true };
}

function answers(path: string): Promise<boolean> {
  if (!existsSync(path)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = createConnection({ path });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
