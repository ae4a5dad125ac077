import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import { turnNow } from '../../core/values.ts';
import {
  BackendMessages,
  FrontendMessages,
  largestValue,
  RowTooLarge,
  rowValues,
  type ServerError,
  serverError,
} from './messages.ts';

export type Values = readonly (string | null)[];

export type OnRow = (bytes: Buffer, start: number) => void;

export interface QueryResult {
  rows: (string | null)[][];
}

/** If reading it throws, the statement fails. */
export type CopyData = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** Pipelined, one Sync each. `pg` only opens it: its parser would cost a quarter of the time of a short statement. */
export interface Connection {
  query(text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  /**
   * Statements that are sent at once share a Sync, so PostgreSQL commits them together, which costs it less than half. If one
   * fails, the others have no effect and fail with `GroupAborted`. `weight`: its part of the 16 of a group.
   */
  queryInGroup(text: string, values: Values, onRow?: OnRow, weight?: number): Promise<QueryResult>;
  copy(text: string, data: CopyData): Promise<void>;
  readonly pending: number;
  readonly groupWeight: number;
  headMs(): number;
  readonly isOpen: boolean;
  readonly tls: string;
  close(): void;
}

interface ConnectOptions {
  url?: string;
  client?: pg.ClientConfig;
  settings: Readonly<Record<string, string>>;
  /** Longer than the server's own timeouts: detects a network that drops packets silently. */
  answerMsMax: number;
  /** A larger row ends the connection, and its statement with `RowTooLarge`. */
  rowBytesMax?: number;
  onClose: () => void;
}

const statementsMax = 400;
/** More would hold their locks for longer without costing less. */
const groupWeightMax = 16;

interface Pending {
  resolve(result: QueryResult): void;
  reject(error: Error): void;
  rows: (string | null)[][];
  onRow: OnRow | null;
  error: Error | null;
  prepares: string | null;
  sentAt: number;
  copyData: CopyData | null;
  hasSync: boolean;
  isComplete: boolean;
}

export class ConnectionLost extends Error {
  readonly code = 'ECONNRESET';
  constructor() {
    super('Connection terminated unexpectedly');
    this.name = 'ConnectionLost';
  }
}

export class GroupAborted extends Error {
  constructor() {
    super('Another statement of the group failed');
    this.name = 'GroupAborted';
  }
}

export async function connect(options: ConnectOptions): Promise<Connection> {
  const socket = await openSocket(options);
  const incoming = new BackendMessages(options.rowBytesMax);
  const outgoing = new FrontendMessages();
  const statements = new Map<string, string>();
  const queue: (Pending | undefined)[] = [];
  let head = 0;
  let completed = 0;
  let failed: Pending | null = null;
  let groupWeight = 0;
  let statementCount = 0;
  let open = true;
  let flushing = false;

  const handler = {
    row: (bytes: Buffer, start: number) => {
      const current = queue[head + completed];
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
    // The connection ends: the rest of the row would have to be read first.
    largeRow: (start: Buffer) => {
      const [large] = queue.splice(head + completed, 1);
      large?.reject(new RowTooLarge(largestValue(start), options.rowBytesMax ?? 0));
      onLost();
    },
    message: (type: number, bytes: Buffer, start: number, end: number) => {
      const current = queue[head + completed];
      if (!current) return;
      switch (type) {
        case 0x31: // ParseComplete
          current.prepares = null;
          return;
        case 0x43: // CommandComplete
          current.isComplete = true;
          if (current.hasSync) return;
          completed++;
          startTime();
          return;
        case 0x47: // CopyInResponse
          void sendCopy(current);
          return;
        case 0x45: // ErrorResponse
          current.error = serverError(bytes, start, end);
          failed = current;
          // Rejected before its data was requested: the Sync after the data has not been sent yet.
          if (current.copyData !== null) endCopy(current);
          return;
        case 0x5a: // ReadyForQuery
          finishGroup();
      }
    },
  };
  socket.on('data', (chunk: Buffer) => {
    if (open) incoming.read(chunk, handler);
  });
  socket.on('close', onLost);
  socket.on('error', onLost);
  const watch = setInterval(() => {
    if (headMs() > options.answerMsMax) socket.destroy();
  }, 500);
  watch.unref();

  function finishGroup(): void {
    const members: Pending[] = [];
    for (let last: Pending | undefined; !last?.hasSync; ) {
      last = queue[head];
      if (!last) break;
      members.push(last);
      // Drop the reference, since the result may be large.
      queue[head++] = undefined;
    }
    const aborting = failed;
    completed = 0;
    failed = null;
    if (head === queue.length) {
      queue.length = 0;
      head = 0;
    } else if (head > 512) {
      queue.splice(0, head);
      head = 0;
    }
    startTime();
    // The commit itself failed: nothing tells by which statement.
    const isCommit = members.length > 1 && aborting?.isComplete;
    for (const member of members) finish(member, aborting !== null && (isCommit || member !== aborting));
  }

  function startTime(): void {
    const next = queue[head + completed];
    if (next) next.sentAt = performance.now();
  }

  function finish(current: Pending, isAborted = false): void {
    if (isAborted) current.reject(new GroupAborted());
    else if (current.error === null) current.resolve(current);
    else {
      if (current.prepares !== null) statements.delete(current.prepares);
      else if (isStaleStatement(current.error)) closeStatements();
      current.reject(current.error);
    }
  }

  /** Before every message that does not belong to the group: a failure skips all messages up to the Sync. */
  function endGroup(): void {
    const last = queue.at(-1);
    if (groupWeight === 0 || !last) return;
    groupWeight = 0;
    last.hasSync = true;
    outgoing.sync();
  }

  function closeStatements(): void {
    endGroup();
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
    head = completed = groupWeight = 0;
    for (const each of waiting) each?.reject(new ConnectionLost());
    options.onClose();
  }

  function flushSoon(): void {
    if (flushing) return;
    flushing = true;
    setImmediate(() => {
      flushing = false;
      endGroup();
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
    hasSync = true,
  ): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      queue.push({
        resolve,
        reject,
        rows: [],
        onRow,
        error: null,
        prepares,
        sentAt: 0,
        copyData,
        hasSync,
        isComplete: false,
      });
      if (queue.length === head + completed + 1) startTime();
      flushSoon();
    });
  }

  function query(text: string, values: Values, onRow?: OnRow): Promise<QueryResult> {
    if (!open) return Promise.reject(new ConnectionLost());
    endGroup();
    const { name, prepares } = prepareStatement(text);
    outgoing.bind(name, values);
    outgoing.execute();
    outgoing.sync();
    return enqueue(prepares, onRow ?? null, null);
  }

  /** Waits for the socket's buffer, because data waiting in it would be in memory twice. */
  async function sendCopy(current: Pending): Promise<void> {
    try {
      for await (const bytes of current.copyData ?? []) {
        if (current.copyData === null || !open) return;
        outgoing.copyHead(bytes.length);
        socket.write(outgoing.take());
        if (!socket.write(bytes)) await waitForDrain();
      }
      if (current.copyData !== null && open) outgoing.copyDone();
    } catch {
      if (current.copyData !== null && open) outgoing.copyFail();
    }
    if (current.copyData !== null && open) endCopy(current);
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
    const current = queue[head + completed];
    return current ? turnNow() - current.sentAt : 0;
  }

  return {
    query,
    queryInGroup(text, values, onRow, weight = 1) {
      // One that is not prepared stays alone: statements behind it would miss it if the group failed.
      if (!open || !statements.has(text)) return query(text, values, onRow);
      outgoing.bind(prepareStatement(text).name, values);
      outgoing.execute();
      groupWeight += weight;
      const result = enqueue(null, onRow ?? null, null, false);
      if (groupWeight >= groupWeightMax) endGroup();
      return result;
    },
    async copy(text, data) {
      if (!open) throw new ConnectionLost();
      endGroup();
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
    get groupWeight() {
      return groupWeight;
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
