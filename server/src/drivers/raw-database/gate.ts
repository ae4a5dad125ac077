import { existsSync, readFileSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { writeDurably } from '../database/durable-file.ts';
import { watchAuthentication } from './authentication.ts';
import { readStartup, refusal, startupBytesMax } from './startup-message.ts';

export interface Gate {
  port: number;
  close(): Promise<void>;
}

export type Upstream = { path: string } | { host: string; port: number };

export interface GateOptions {
  /** Asked for each connection: it may be on its way up. */
  upstream: () => Promise<Upstream>;
  /** How many connections a login may have here; none for who is not known. */
  placesOf(name: string): number;
  /** Keeps the port over restarts, since connection strings name it. */
  portFile: string;
  connectionsMax: number;
  /** From the first byte until PostgreSQL has let it in. */
  startupMsMax: number;
  log: (line: string) => void;
}

/** Those that have not said yet who they are; of more, the oldest goes. Who is in earnest says it at once. */
const namelessMax = 50;

/**
 * The way for programs of this machine into the embedded PostgreSQL, which listens on a private socket only. Lets
 * through who names a raw database and the role of the same name; what they may then do, PostgreSQL decides.
 */
export async function openGate(options: GateOptions): Promise<Gate> {
  const open = new Set<Socket>();
  const nameless = new Set<Socket>();
  const places = createPlaces(options);
  const server = createServer({ noDelay: true }, (client) => {
    const late = setTimeout(() => client.destroy(), options.startupMsMax);
    open.add(client);
    nameless.add(client);
    client.once('close', () => {
      clearTimeout(late);
      open.delete(client);
      nameless.delete(client);
    });
    client.on('error', () => client.destroy());
    const [oldest] = nameless;
    if (nameless.size > namelessMax) oldest?.destroy();
    receive(client, {
      onNamed: () => nameless.delete(client),
      onLetIn: () => clearTimeout(late),
      upstream: options.upstream,
      places,
    });
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

interface Reception {
  onNamed: () => void;
  onLetIn: () => void;
  upstream: GateOptions['upstream'];
  places: Places;
}

function receive(client: Socket, reception: Reception): void {
  let received = Buffer.alloc(0);
  let askedForEncryption = 0;
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
      client.off('data', onData);
      client.pause();
      // Stays among the nameless: it names nobody, and is over at once.
      if (message.kind === 'cancel') return void forward(client, received, reception);
      if (message.kind !== 'login') return refuse(client, '08P01', 'this is not how a login begins');
      const { user, database, replication } = message;
      const taken = database === user && !replication ? reception.places.take(user, client) : 'unknown';
      // In one sentence for all, so that nobody learns which logins there are.
      if (taken === 'unknown') {
        return refuse(client, '28000', 'only the database of an app can be reached here, with its own login');
      }
      if (taken === 'full') return refuse(client, '53300', 'too many connections to databases of apps');
      reception.onNamed();
      return void forward(client, received, reception);
    }
  };
  client.on('data', onData);
}

/** Both ways, each as fast as the other side takes it. */
async function forward(client: Socket, received: Buffer, { upstream, onLetIn }: Reception): Promise<void> {
  const place = await upstream().catch(() => null);
  if (!place) return refuse(client, '57P03', 'the database server is not up; try again soon');
  if (client.destroyed) return;
  const server = createConnection(place);
  const read = watchAuthentication();
  const onData = (bytes: Buffer) => {
    const found = read(bytes);
    if (found === 'waiting') return;
    server.off('data', onData);
    if (found === 'let_in') onLetIn();
  };
  server.on('data', onData);
  server.once('connect', () => {
    server.write(received);
    client.pipe(server);
    server.pipe(client);
  });
  server.on('error', () => client.destroy());
  server.once('close', () => client.destroySoon());
  client.once('close', () => server.destroy());
}

interface Places {
  /** Until the connection closes. */
  take(name: string, client: Socket): 'taken' | 'full' | 'unknown';
}

/** For all logins together, and for each: none can take the others' by naming itself and then saying nothing. */
function createPlaces({ placesOf, connectionsMax }: GateOptions): Places {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take: (name, client) => {
      const max = placesOf(name);
      const own = taken.get(name) ?? 0;
      if (max === 0) return 'unknown';
      if (own >= max || all >= connectionsMax) return 'full';
      all++;
      taken.set(name, own + 1);
      client.once('close', () => {
        all--;
        const left = (taken.get(name) ?? 1) - 1;
        if (left === 0) taken.delete(name);
        else taken.set(name, left);
      });
      return 'taken';
    },
  };
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
