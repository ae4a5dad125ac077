import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

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

/** Linux only. The listener with the most specific address receives connections; others are ignored. */
export function listListeningUsers(port: number): number[] {
  const listeners = listListeners(port);
  for (const address of addressPriority) {
    const there = listeners.filter((listener) => listener.address === address);
    if (there.length > 0) return there.map(({ uid }) => uid);
  }
  return [];
}

export function listensPublicly(port: number): boolean {
  return listListeners(port).some(({ address }) => anyAddress.includes(address));
}

function listListeners(port: number): { address: string; uid: number }[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    readLines(path).flatMap((line) => {
      const [, local = '', , state, , , , uid] = line.trim().split(/\s+/);
      const [address = '', at] = local.split(':');
      return state === listenState && at === hexPort ? [{ address, uid: Number(uid) }] : [];
    }),
  );
}

const listenState = '0A';
const anyAddress = ['00000000', '00000000000000000000000000000000'];
/** 127.0.0.1 and 0.0.0.0 as IPv4 and as IPv4-mapped IPv6 addresses, in both byte orders. */
const addressPriority = [
  '0100007F',
  '7F000001',
  '0000000000000000FFFF00000100007F',
  '00000000000000000000FFFF7F000001',
  ...anyAddress,
];

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
