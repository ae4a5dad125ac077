import { existsSync, readFileSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { writeDurably } from '../database/durable-file.ts';
import { isRawName } from './raw-name.ts';
import { readStartup, refusal, startupBytesMax } from './startup-message.ts';

export interface Gate {
  port: number;
  close(): Promise<void>;
}

export interface GateOptions {
  upstream: { path: string } | { host: string; port: number };
  /** Keeps the port over restarts, since connection strings name it. */
  portFile: string;
  connectionsMax: number;
  log: (line: string) => void;
}

/** From the first byte to the last of the first message. */
const startupMsMax = 10_000;

/**
 * The way for programs of this machine into the embedded PostgreSQL, which listens on a private socket only. Lets
 * through who names a raw database and the role of the same name; what they may then do, PostgreSQL decides.
 */
export async function openGate(options: GateOptions): Promise<Gate> {
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    open.add(client);
    client.once('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    if (open.size > options.connectionsMax)
      return refuse(client, '53300', 'too many connections to databases of apps');
    receive(client, options);
  });
  const port = await listen(server, options);
  server.on('error', (error) => options.log(`The gate to databases of apps: ${error.message}`));
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const client of open) client.destroy();
      }),
  };
}

function receive(client: Socket, options: GateOptions): void {
  let received = Buffer.alloc(0);
  let askedForEncryption = 0;
  const late = setTimeout(() => client.destroy(), startupMsMax);
  client.once('close', () => clearTimeout(late));
  const onData = (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    for (;;) {
      const message = readStartup(received);
      if (message.kind === 'incomplete' && received.length <= startupBytesMax) return;
      if (message.kind === 'encryption' && ++askedForEncryption <= 2) {
        // Both ends are on this machine.
        client.write('N');
        received = received.subarray(message.bytes);
        continue;
      }
      clearTimeout(late);
      client.off('data', onData);
      client.pause();
      if (message.kind === 'cancel') return forward(client, received, options);
      if (message.kind !== 'login') return refuse(client, '08P01', 'this is not how a login begins');
      const { user, database, replication } = message;
      // In one sentence for all, so that nobody learns which logins there are.
      if (!isRawName(user) || database !== user || replication) {
        return refuse(client, '28000', 'only the database of an app can be reached here, with its own login');
      }
      return forward(client, received, options);
    }
  };
  client.on('data', onData);
}

/** Both ways, each as fast as the other side takes it. */
function forward(client: Socket, received: Buffer, { upstream }: GateOptions): void {
  const server = createConnection(upstream);
  server.once('connect', () => {
    server.write(received);
    client.pipe(server);
    server.pipe(client);
  });
  server.on('error', () => client.destroy());
  server.once('close', () => client.destroySoon());
  client.once('close', () => server.destroy());
}

function refuse(client: Socket, code: string, message: string): void {
  // What else it sends is of no interest; unread, the end would reach it as a broken connection.
  client.resume();
  client.end(refusal(code, message));
  setTimeout(() => client.destroy(), 1_000).unref();
}

async function listen(server: Server, { portFile, log }: GateOptions): Promise<number> {
  const text = existsSync(portFile) ? readFileSync(portFile, 'utf8').trim() : '';
  const kept = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  const port = (await tryPort(server, kept)) ?? (await tryPort(server, 0));
  if (port === null) throw new Error('No free TCP port on 127.0.0.1 for databases of apps.');
  if (port !== kept) {
    if (kept !== 0) log(`Port ${kept} is taken; databases of apps are reached at port ${port} from now on.`);
    writeDurably(portFile, `${port}\n`);
  }
  return port;
}

function tryPort(server: Server, wanted: number): Promise<number | null> {
  return new Promise((resolve) => {
    const failed = () => resolve(null);
    server.once('error', failed);
    server.listen(wanted, '127.0.0.1', () => {
      server.off('error', failed);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : null);
    });
  });
}
