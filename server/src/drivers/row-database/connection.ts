import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import { BackendMessages, FrontendMessages, rowValues, type ServerError, serverError } from './messages.ts';

export type Values = readonly (string | null)[];

export type OnRow = (bytes: Buffer, start: number) => void;

export interface QueryResult {
  rows: (string | null)[][];
}

/**
 * Pipelined; each statement has its own Sync, so a failure does not affect the others. `pg` only opens the
 * connection: its message parser would cost a quarter of the time of a short statement.
 */
export interface Connection {
  query(text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  copy(text: string, data: readonly Uint8Array[]): Promise<void>;
  readonly pending: number;
  headMs(): number;
  readonly isOpen: boolean;
  /** Such as `TLSv1.3`; empty if the connection is not encrypted. */
  readonly tls: string;
  close(): void;
}

export interface ConnectOptions {
  url?: string;
  /** In place of a URL. */
  client?: pg.ClientConfig;
  settings: Readonly<Record<string, string>>;
  /** Longer than the server's own timeouts: detects a network that drops packets silently. */
  answerMsMax: number;
  onClose: () => void;
}

const statementsMax = 400;

interface Pending {
  resolve(result: QueryResult): void;
  reject(error: Error): void;
  rows: (string | null)[][];
  onRow: OnRow | null;
  error: Error | null;
  prepares: string | null;
  sentAt: number;
  copyData: readonly Uint8Array[] | null;
}

export class ConnectionLost extends Error {
  readonly code = 'ECONNRESET';
  constructor() {
    super('Connection terminated unexpectedly');
    this.name = 'ConnectionLost';
  }
}

export async function connect(options: ConnectOptions): Promise<Connection> {
  const socket = await openSocket(options);
  const incoming = new BackendMessages();
  const outgoing = new FrontendMessages();
  const statements = new Map<string, string>();
  const queue: (Pending | undefined)[] = [];
  let head = 0;
  let statementCount = 0;
  let open = true;
  let flushing = false;

  const handler = {
    row: (bytes: Buffer, start: number) => {
      const current = queue[head];
      if (!current) return;
      if (current.onRow === null) current.rows.push(rowValues(bytes, start));
      else if (current.error === null) {
        try {
          current.onRow(bytes, start);
        } catch (error) {
          // Only this statement fails: the following messages belong to others.
          current.error = error instanceof Error ? error : new Error(String(error));
        }
      }
    },
    message: (type: number, bytes: Buffer, start: number, end: number) => {
      const current = queue[head];
      if (!current) return;
      switch (type) {
        case 0x31: // ParseComplete
          current.prepares = null;
          return;
        case 0x47: // CopyInResponse
          void sendCopy(current);
          return;
        case 0x45: // ErrorResponse
          current.error = serverError(bytes, start, end);
          // Rejected before its data was requested: the Sync after the data has not been sent yet.
          if (current.copyData !== null) endCopy(current);
          return;
        case 0x5a: // ReadyForQuery
          finish(current);
      }
    },
  };
  socket.on('data', (chunk: Buffer) => incoming.read(chunk, handler));
  socket.on('close', onLost);
  socket.on('error', onLost);
  const watch = setInterval(() => {
    if (headMs() > options.answerMsMax) socket.destroy();
  }, 500);
  watch.unref();

  function finish(current: Pending): void {
    // Drop the reference, since the result may be large.
    queue[head++] = undefined;
    if (head === queue.length) {
      queue.length = 0;
      head = 0;
    } else if (head > 512) {
      queue.splice(0, head);
      head = 0;
    }
    // The time of the next statement starts now: so far it has waited for this one.
    const next = queue[head];
    if (next) next.sentAt = performance.now();
    if (current.error === null) {
      current.resolve(current);
      return;
    }
    if (current.prepares !== null) statements.delete(current.prepares);
    else if (isStaleStatement(current.error)) closeStatements();
    current.reject(current.error);
  }

  function closeStatements(): void {
    for (const name of statements.values()) outgoing.closeStatement(name);
    statements.clear();
  }

  function onLost(): void {
    if (!open) return;
    open = false;
    clearInterval(watch);
    socket.destroy();
    const waiting = queue.splice(head);
    queue.length = 0;
    head = 0;
    for (const each of waiting) each?.reject(new ConnectionLost());
    options.onClose();
  }

  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    setImmediate(() => {
      flushing = false;
      if (open && !outgoing.isEmpty) socket.write(outgoing.take());
    });
  }

  function prepareStatement(text: string): { name: string; prepares: string | null } {
    const known = statements.get(text);
    if (known !== undefined) {
      statements.delete(text);
      statements.set(text, known);
      return { name: known, prepares: null };
    }
    if (statements.size >= statementsMax) {
      const [oldest] = statements;
      if (oldest) {
        statements.delete(oldest[0]);
        outgoing.closeStatement(oldest[1]);
      }
    }
    const name = `s${++statementCount}`;
    statements.set(text, name);
    outgoing.parse(name, text);
    return { name, prepares: text };
  }

  function enqueue(
    prepares: string | null,
    onRow: OnRow | null,
    copyData: Pending['copyData'],
  ): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      const sentAt = performance.now();
      queue.push({ resolve, reject, rows: [], onRow, error: null, prepares, sentAt, copyData });
      flushSoon();
    });
  }

  /** Waits for the socket's buffer, because data waiting in it would be in memory twice. */
  async function sendCopy(current: Pending): Promise<void> {
    for (const bytes of current.copyData ?? []) {
      outgoing.copyHead(bytes.length);
      socket.write(outgoing.take());
      if (!socket.write(bytes)) await waitForDrain();
      if (current.copyData === null || !open) return;
    }
    outgoing.copyDone();
    endCopy(current);
  }

  function waitForDrain(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        socket.off('drain', done);
        socket.off('close', done);
        resolve();
      };
      socket.on('drain', done);
      socket.on('close', done);
    });
  }

  function endCopy(current: Pending): void {
    current.copyData = null;
    outgoing.sync();
    socket.write(outgoing.take());
  }

  function headMs(): number {
    const current = queue[head];
    return current ? performance.now() - current.sentAt : 0;
  }

  return {
    query(text, values, onRow) {
      if (!open) return Promise.reject(new ConnectionLost());
      const { name, prepares } = prepareStatement(text);
      outgoing.bind(name, values);
      outgoing.execute();
      outgoing.sync();
      return enqueue(prepares, onRow ?? null, null);
    },
    async copy(text, data) {
      if (!open) throw new ConnectionLost();
      // The server ignores a Sync before the data, so sendCopy sends it after them.
      outgoing.parse('', text);
      outgoing.bind('', []);
      outgoing.execute();
      outgoing.flush();
      await enqueue(null, null, data);
    },
    get pending() {
      return queue.length - head;
    },
    headMs,
    get isOpen() {
      return open;
    },
    tls: socket instanceof TLSSocket ? (socket.getProtocol() ?? 'TLS') : '',
    close: onLost,
  };
}

function isStaleStatement(error: Error): boolean {
  return 'code' in error && (error.code === '26000' || error.code === '0A000');
}

async function openSocket({ url, client: config, settings }: ConnectOptions): Promise<Socket> {
  const client = new pg.Client({
    ...(url === undefined ? {} : { connectionString: url }),
    application_name: 'svc rows',
    connectionTimeoutMillis: 4_000,
    keepAlive: true,
    ...config,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  });
  client.on('error', () => {});
  await client.connect();
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  for (const event of ['data', 'error', 'close', 'end']) stream.removeAllListeners(event);
  return stream;
}

export type { ServerError };
