import { connect, createServer, type Server } from 'node:net';
import { type Forward, lookForPort } from '../look-for-port.ts';
import { listListeners } from '../process/network.ts';

/**
 * Runs in a container of its own that shares only the network of an app. `node -e <this> <PORT> <forward port>`: writes what it
 * finds as JSON lines.
 */
const [port = 0, from = 0] = process.argv.slice(-2).map(Number);
const nameServer = '127.0.0.11';
const isLoopback = (address: string) => /^(?:127\.|::1$|::ffff:7f)/.test(address);

const finder = lookForPort({
  port,
  own: 'own',
  listeners: () => listListeners('/proc/net').filter((it) => it.port !== from && it.address !== nameServer),
  isDirect: ({ address }) => !isLoopback(address),
  async open(target): Promise<Forward | null> {
    const server = createServer({ allowHalfOpen: true }, (visitor) => {
      const host = target.family === 4 ? '127.0.0.1' : '::1';
      const app = connect({ host, port: target.port, allowHalfOpen: true });
      const end = () => {
        visitor.destroy();
        app.destroy();
      };
      visitor.on('error', end).on('close', end).pipe(app);
      app.on('error', end).on('close', end).pipe(visitor);
      visitor.setNoDelay(true);
      app.setNoDelay(true);
    });
    if (!(await listens(server))) return null;
    return {
      address: `127.0.0.1:${from}`,
      target,
      isRunning: () => server.listening,
      close: async () => void server.close(),
    };
  },
  log: (_, text) => write({ log: text }),
  onChange: () => report(),
});

function listens(server: Server): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ port: from, host: '0.0.0.0' }, () => resolve(true));
  });
}

function write(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const endMs = 200;
let last = '';

function report(): void {
  const found = { isForwarded: finder.address() !== 'own', unreachable: finder.unreachable() };
  const text = JSON.stringify(found);
  if (text === last) return;
  write({ found });
  last = text;
  // The app listens on PORT, so that there is nothing left to do; the log line about it may follow.
  if (!found.isForwarded && found.unreachable === undefined) setTimeout(() => process.exit(0), endMs);
}

setInterval(report, 100);
process.on('SIGTERM', () => process.exit(0));
