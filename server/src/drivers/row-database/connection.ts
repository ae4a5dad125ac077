import type { Socket } from 'node:net';
import pg from 'pg';
import { BackendMessages, rowValues, type ServerError, serverError } from './backend-messages.ts';
import { FrontendMessages } from './frontend-messages.ts';

export type Values = readonly (string | null)[];

/** A row as the server sends it, from its number of columns on; only valid during the call. */
export type OnRow = (bytes: Buffer, start: number) => void;

export interface QueryResult {
  rows: (string | null)[][];
}

/**
 * One connection that takes statements while others are still under way and answers them in order. Each stands alone
 * (its own Sync), so one that fails leaves its neighbours untouched. Statements are prepared on first use.
 *
 * The driver `pg` makes the connection (TLS, passwords, every form of URL) and hands its socket over: its own way of
 * taking messages apart costs a quarter of the time of a short statement.
 */
export interface Connection {
  /** With `onRow` the rows' bytes go there, as they come, and `rows` stays empty. */
  query(text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  /** COPY … FROM STDIN in one go: all of it is at hand. */
  copy(text: string, data: readonly Uint8Array[]): Promise<void>;
  /** Statements sent and not answered yet. */
  readonly pending: number;
  /** How long the statement at the head has been under way. */
  headMs(): number;
  readonly isOpen: boolean;
  close(): void;
}

export interface ConnectOptions {
  url: string;
  /** Settings of the session. */
  settings: Readonly<Record<string, string>>;
  /** Above the server's own limits: for when the network is cut without a word. */
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
  /** The text of the statement that it prepares on the way. */
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
  const socket = await connectedSocket(options);
  const incoming = new BackendMessages();
  const outgoing = new FrontendMessages();
  /** By text, the least recently used first. */
  const statements = new Map<string, string>();
  /** In the order in which they were sent; those before the head are done, and nothing is kept of them. */
  const queue: (Pending | undefined)[] = [];
  let head = 0;
  let made = 0;
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
          // Its own statement's fault: the messages behind it belong to others.
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
          // Refused before it asked for its data: the Sync that would stand behind them is still to be sent.
          if (current.copyData !== null) endCopy(current);
          return;
        case 0x5a: // ReadyForQuery
          settle(current);
      }
    },
  };
  socket.on('data', (chunk: Buffer) => incoming.read(chunk, handler));
  socket.on('close', lost);
  socket.on('error', lost);
  const watch = setInterval(() => {
    if (headMs() > options.answerMsMax) socket.destroy();
  }, 500);
  watch.unref();

  function settle(current: Pending): void {
    // Its answer may be large: it is not to be kept alive from here.
    queue[head++] = undefined;
    if (head === queue.length) {
      queue.length = 0;
      head = 0;
    } else if (head > 512) {
      queue.splice(0, head);
      head = 0;
    }
    // The next one's time begins now: until here it waited behind this one.
    const next = queue[head];
    if (next) next.sentAt = performance.now();
    if (current.error === null) {
      current.resolve(current);
      return;
    }
    // It was not prepared after all; the next use prepares it anew.
    if (current.prepares !== null) statements.delete(current.prepares);
    else if (isOutdated(current.error)) forgetStatements();
    current.reject(current.error);
  }

  function forgetStatements(): void {
    for (const name of statements.values()) outgoing.closeStatement(name);
    statements.clear();
  }

  function lost(): void {
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

  /** Whatever is asked in one turn of the event loop leaves in one write. */
  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    setImmediate(() => {
      flushing = false;
      if (open && !outgoing.isEmpty) socket.write(outgoing.take());
    });
  }

  function prepared(text: string): { name: string; prepares: string | null } {
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
    const name = `s${++made}`;
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
      queue.push({
        resolve,
        reject,
        rows: [],
        onRow,
        error: null,
        prepares,
        sentAt: performance.now(),
        copyData,
      });
      flushSoon();
    });
  }

  /** No more than the socket takes: what waits in it would be in memory a second time. */
  async function sendCopy(current: Pending): Promise<void> {
    for (const bytes of current.copyData ?? []) {
      outgoing.copyHead(bytes.length);
      socket.write(outgoing.take());
      if (!socket.write(bytes)) await drained();
      // Refused meanwhile, or the connection is gone.
      if (current.copyData === null || !open) return;
    }
    outgoing.copyDone();
    endCopy(current);
  }

  function drained(): Promise<void> {
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
      const { name, prepares } = prepared(text);
      outgoing.bind(name, values);
      outgoing.execute();
      outgoing.sync();
      return enqueue(prepares, onRow ?? null, null);
    },
    async copy(text, data) {
      if (!open) throw new ConnectionLost();
      // The server forgets a Sync that comes before the data, so it is sent behind them (see sendCopy).
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
    close() {
      lost();
    },
  };
}

/** The statement is not prepared, or its result is not what it was when it was. */
function isOutdated(error: Error): boolean {
  return 'code' in error && (error.code === '26000' || error.code === '0A000');
}

/** Connected and logged in by `pg`, which is then kept from listening. */
async function connectedSocket({ url, settings }: ConnectOptions): Promise<Socket> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'svc rows',
    connectionTimeoutMillis: 4_000,
    keepAlive: true,
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
