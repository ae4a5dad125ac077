import { existsSync, readFileSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { writeDurably } from '../os/files.ts';
import { readerName } from './server.ts';

interface Gate {
  port: number;
  close(): Promise<void>;
}

export type Upstream = { path: string } | { host: string; port: number };

export interface GateOptions {
  upstream: () => Promise<Upstream>;
  connectionsOf(name: string): number;
  portFile: string;
  connectionsMax: number;
  startupMsMax: number;
  log: Pick<Logger, 'warn'>;
}

/** Logins that may connect, with their number of connections; null: no longer. */
export type GateLogins = Readonly<Record<string, number | null>>;

/** The gate of this process, or of another one that outlives it. */
export interface RawGate {
  port(): Promise<number>;
  setLogins(logins: GateLogins): void;
  close(): Promise<void>;
}

export function createRawGate(options: Omit<GateOptions, 'connectionsOf'>): RawGate {
  const connections = new Map<string, number>();
  let opened: Promise<Gate> | undefined;
  return {
    async port() {
      opened ??= openGate({ ...options, connectionsOf: (name) => connections.get(name) ?? 0 });
      const { port } = await opened.catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return port;
    },
    setLogins(logins) {
      for (const [name, count] of Object.entries(logins))
        if (count === null) connections.delete(name);
        else connections.set(name, count);
    },
    async close() {
      const open = await opened?.catch(() => undefined);
      await open?.close();
    },
  };
}

/** Connections that have not sent their login yet; beyond the limit the oldest is closed. Real clients send it at once. */
const anonymousMax = 50;

/** PostgreSQL itself listens on a private socket only. Accepts only a database with the role of the same name or its reader. */
async function openGate(options: GateOptions): Promise<Gate> {
  const open = new Set<Socket>();
  const anonymous = new Set<Socket>();
  const acquire = limitConnections(options);
  const server = createServer({ noDelay: true }, (client) => {
    const startupTimer = setTimeout(() => client.destroy(), options.startupMsMax);
    open.add(client);
    anonymous.add(client);
    client.once('close', () => {
      clearTimeout(startupTimer);
      open.delete(client);
      anonymous.delete(client);
    });
    client.on('error', () => client.destroy());
    const [oldest] = anonymous;
    if (anonymous.size > anonymousMax) oldest?.destroy();
    readStartupMessages(client, {
      onLogin: () => anonymous.delete(client),
      onAuthenticated: () => clearTimeout(startupTimer),
      upstream: options.upstream,
      acquire,
    });
  });
  const port = await listen(server, options);
  server.on('error', (error) => options.log.warn({ err: error }, 'app database gate failed'));
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const client of open) client.destroy();
      }),
  };
}

interface ConnectionHandlers {
  onLogin: () => void;
  onAuthenticated: () => void;
  upstream: GateOptions['upstream'];
  acquire: AcquireConnection;
}

function readStartupMessages(client: Socket, handlers: ConnectionHandlers): void {
  let received = Buffer.alloc(0);
  let encryptionRequests = 0;
  const onData = (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    for (;;) {
      const message = parseStartup(received);
      if (message.kind === 'incomplete' && received.length <= startupBytesMax) return;
      if (message.kind === 'encryption' && ++encryptionRequests <= 2) {
        client.write('N');
        received = received.subarray(message.bytes);
        continue;
      }
      client.off('data', onData);
      client.pause();
      if (message.kind === 'cancel') return void forward(client, received, handlers);
      if (message.kind !== 'login') return reject(client, '08P01', 'invalid startup message');
      const { user, database, replication } = message;
      const isOwn = user === database || user === readerName(database);
      const result = isOwn && !replication ? handlers.acquire(user, client) : 'unknown';
      // One message for all cases, so that it does not reveal which logins exist.
      if (result === 'unknown')
        return reject(client, '28000', 'only an app database is accessible here, with its own login');
      if (result === 'full') return reject(client, '53300', 'too many connections to app databases');
      handlers.onLogin();
      return void forward(client, received, handlers);
    }
  };
  client.on('data', onData);
}

async function forward(client: Socket, received: Buffer, { upstream, onAuthenticated }: ConnectionHandlers) {
  const address = await upstream().catch(() => null);
  if (!address) return reject(client, '57P03', 'the database server is not running; try again soon');
  if (client.destroyed) return;
  const server = createConnection(address);
  const read = watchAuthentication();
  const onData = (bytes: Buffer) => {
    const found = read(bytes);
    if (found === 'waiting') return;
    server.off('data', onData);
    if (found === 'authenticated') onAuthenticated();
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

type AcquireConnection = (name: string, client: Socket) => 'acquired' | 'full' | 'unknown';

/** One limit for all logins and one for each, so that no login can use up the connections of others. */
function limitConnections({ connectionsOf, connectionsMax }: GateOptions): AcquireConnection {
  const open = new Map<string, number>();
  let all = 0;
  return (name, client) => {
    const max = connectionsOf(name);
    const own = open.get(name) ?? 0;
    if (max === 0) return 'unknown';
    if (own >= max || all >= connectionsMax) return 'full';
    all++;
    open.set(name, own + 1);
    client.once('close', () => {
      all--;
      const left = (open.get(name) ?? 1) - 1;
      if (left === 0) open.delete(name);
      else open.set(name, left);
    });
    return 'acquired';
  };
}

function reject(client: Socket, code: string, message: string): void {
  // Read and discard further input: with unread input the client would see a reset instead of the error.
  client.resume();
  client.end(errorMessage(code, message));
  setTimeout(() => client.destroy(), 1_000).unref();
}

async function listen(server: Server, { portFile, log }: GateOptions): Promise<number> {
  const text = existsSync(portFile) ? readFileSync(portFile, 'utf8').trim() : '';
  const stored = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  const port = (await tryListen(server, stored)) ?? (await tryListen(server, 0));
  if (port === null) throw new Error('No free TCP port on 127.0.0.1 for app databases.');
  if (port !== stored) {
    if (stored !== 0)
      log.warn({ port: stored, newPort: port }, 'port of app databases is in use; using another port');
    writeDurably(portFile, `${port}\n`);
  }
  return port;
}

function tryListen(server: Server, preferred: number): Promise<number | null> {
  return new Promise((resolve) => {
    const onError = () => resolve(null);
    server.once('error', onError);
    server.listen(preferred, '127.0.0.1', () => {
      server.off('error', onError);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : null);
    });
  });
}

type Startup =
  | { kind: 'incomplete' }
  | { kind: 'malformed' }
  | { kind: 'encryption'; bytes: number }
  | { kind: 'cancel' }
  | { kind: 'login'; user: string; database: string; replication: boolean };

export const startupBytesMax = 10_000;
const cancelCode = 80877102;
const tlsCode = 80877103;
const gssCode = 80877104;

export function parseStartup(received: Buffer): Startup {
  if (received.length < 8) return { kind: 'incomplete' };
  const length = received.readUInt32BE(0);
  if (length < 8 || length > startupBytesMax) return { kind: 'malformed' };
  const code = received.readUInt32BE(4);
  if (code === tlsCode || code === gssCode) {
    return length === 8 ? { kind: 'encryption', bytes: 8 } : { kind: 'malformed' };
  }
  if (received.length < length) return { kind: 'incomplete' };
  if (code === cancelCode) return { kind: 'cancel' };
  if (code >>> 16 !== 3) return { kind: 'malformed' };
  return parseLogin(received.subarray(8, length));
}

function parseLogin(body: Buffer): Startup {
  const texts = body.toString('utf8').split('\0');
  if (body.at(-1) !== 0 || texts.length % 2 !== 0 || texts.at(-2) !== '') return { kind: 'malformed' };
  const parameters = new Map<string, string>();
  for (let at = 0; at < texts.length - 2; at += 2) {
    const name = texts[at] ?? '';
    // A parameter given twice is ambiguous: do not guess which one PostgreSQL would use.
    if (name === '' || parameters.has(name)) return { kind: 'malformed' };
    parameters.set(name, texts[at + 1] ?? '');
  }
  const user = parameters.get('user') ?? '';
  return {
    kind: 'login',
    user,
    database: parameters.get('database') || user,
    replication: parameters.has('replication'),
  };
}

export function errorMessage(code: string, message: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C${code}\0M${message}\0\0`;
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(Buffer.byteLength(fields) + 4, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
}

const headBytes = 5;
const authenticationBytesMax = 64 * 1024;

function watchAuthentication(): (bytes: Buffer) => 'waiting' | 'authenticated' | 'other' {
  let unread = Buffer.alloc(0);
  let seen = 0;
  return (bytes) => {
    seen += bytes.length;
    unread = Buffer.concat([unread, bytes]);
    while (unread.length >= headBytes) {
      const length = unread.readUInt32BE(1);
      if (length < 4 || seen > authenticationBytesMax) return 'other';
      if (unread.length < length + 1) return 'waiting';
      // AuthenticationOk is an 'R' with 0; another number requests a password or similar.
      if (unread[0] === 0x52 && length === 8 && unread.readUInt32BE(headBytes) === 0) return 'authenticated';
      unread = unread.subarray(length + 1);
    }
    return 'waiting';
  };
}
