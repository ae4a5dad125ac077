import { createServer } from 'node:net';

// So many that nobody can listen at all of them; some the system also gives to outgoing connections, and are skipped.
const portMin = 20_000;
const portMax = 60_000;
const attemptsMax = 200;

/** A port that nobody listens at, on any address: an app may listen at all of them. */
export async function freePort(isTaken: (port: number) => boolean): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const port = portMin + Math.floor(Math.random() * (portMax - portMin));
    if (!isTaken(port) && (await isFree(port))) return port;
  }
  throw new Error('No port is free for an app.');
}

export async function isFree(port: number): Promise<boolean> {
  return (await canListen('127.0.0.1', port)) && (await canListen('0.0.0.0', port));
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
