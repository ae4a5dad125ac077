import { createServer } from 'node:net';

// Below the ports that the system gives to outgoing connections, which could take one while an app is restarted.
const portMin = 20_000;
const portMax = 32_000;
const attemptsMax = 200;

/** A port that nobody listens at, on any address: an app may listen at all of them. */
export async function freePort(isTaken: (port: number) => boolean): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const port = portMin + Math.floor(Math.random() * (portMax - portMin));
    if (!isTaken(port) && (await canListen('127.0.0.1', port)) && (await canListen('0.0.0.0', port)))
      return port;
  }
  throw new Error('No port is free for an app.');
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
