import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { endianness } from 'node:os';

// Too many ports for one user to occupy all. The range overlaps with ephemeral ports; ports in use are skipped.
const portMin = 20_000;
const portMax = 60_000;
const attemptsMax = 200;

export async function findFreePort(isTaken: (port: number) => boolean): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const port = portMin + Math.floor(Math.random() * (portMax - portMin));
    if (!isTaken(port) && (await isPortFree(port))) return port;
  }
  throw new Error('No free port for an app.');
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await canListen('127.0.0.1', port)) && (await canListen('0.0.0.0', port));
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

export interface Listener {
  address: string;
  port: number;
  uid: number;
}

/** Linux only. The listener with the most specific address receives connections; others are ignored. */
export function listListeningUsers(port: number): number[] {
  const listeners = listListeners('/proc/net', port);
  for (const address of addressPriority) {
    const there = listeners.filter((listener) => listener.address === address);
    if (there.length > 0) return there.map(({ uid }) => uid);
  }
  return [];
}

export function listensPublicly(port: number): boolean {
  return listListeners('/proc/net', port).some(({ address }) => anyAddress.includes(address));
}

/** The folder is `/proc/<pid>/net` for the network namespace of a process. */
export function listListeners(folder: string, only?: number): Listener[] {
  return [`${folder}/tcp`, `${folder}/tcp6`].flatMap((path) =>
    readLines(path).flatMap((line) => {
      const [, local = '', , state, , , , uid] = line.trim().split(/\s+/);
      const [address = '', hexPort = ''] = local.split(':');
      const port = Number.parseInt(hexPort, 16);
      if (state !== listenState || (only !== undefined && port !== only)) return [];
      return [{ address: parseAddress(address), port, uid: Number(uid) }];
    }),
  );
}

const listenState = '0A';
const anyAddress = ['0.0.0.0', '::'];
const mappedLoopback = '::ffff:7f00:1';
const addressPriority = ['127.0.0.1', mappedLoopback, ...anyAddress];

/** Words of 32 bits in the byte order of the machine. */
function parseAddress(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const groups = bytes.toString('hex').replace(/(.{4})(?=.)/g, '$1:');
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}

/** How the server gets to a listener in a sandbox: through its loopback address. */
export function loopbackFamily({ address }: Listener): 4 | 6 | null {
  if (addressPriority.includes(address)) return 4;
  return address === '::1' ? 6 : null;
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
