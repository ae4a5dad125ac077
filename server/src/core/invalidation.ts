import pg from 'pg';
import type { Logger } from 'pino';

const channel = 'svc_changed';
const reconnectMs = 250;
const startMsMax = 30_000;
/** A connection that the network drops silently still looks open; a heartbeat finds out. */
const heartbeatMs = 400;
const heartbeatTimeoutMs = 500;

/** Invalidates caches of all processes. While `isLive` is false, nothing may be served from a cache. */
export interface Invalidation {
  isLive(): boolean;
  onChange(listener: (tag: string | null) => void): void;
  notify(tag: string): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function listenForChanges(options: { url: string; log: Logger }): Invalidation {
  const listeners: ((tag: string | null) => void)[] = [];
  let connection: ListenConnection | null = null;
  let live = false;
  let stopped = false;

  function notify(tag: string | null): void {
    for (const listener of listeners) listener(tag);
  }

  async function connect(): Promise<void> {
    if (stopped) return;
    const next = createListenConnection({
      url: options.url,
      name: 'svc listen',
      channel,
      onNotification: (payload) => notify(payload ?? null),
      onLost(error) {
        live = false;
        notify(null);
        if (stopped) return;
        options.log.warn({ err: error }, 'invalidation connection lost; caches are off until it is back');
        setTimeout(() => void connect().catch(() => {}), reconnectMs);
      },
    });
    connection = next;
    await next.open();
    notify(null);
    live = true;
  }

  return {
    isLive: () => live,
    onChange: (listener) => void listeners.push(listener),
    notify,
    async start() {
      const deadline = performance.now() + startMsMax;
      await connect().catch(async (error: unknown) => {
        while (!live && !stopped) {
          if (performance.now() > deadline) throw error;
          await Bun.sleep(reconnectMs);
        }
      });
    },
    async stop() {
      stopped = true;
      live = false;
      await connection?.close();
    },
  };
}

export const notifySql = `select pg_notify('${channel}', $1)`;

export interface ListenConnection {
  /** Rejects if the connection cannot be opened, or was closed before. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** A connection for the notifications of a channel. `onLost` is called once: also after `close`, and if it cannot be opened. */
export function createListenConnection(options: {
  url: string;
  name: string;
  channel: string;
  onNotification(payload: string | undefined): void;
  onLost(error?: Error): void;
}): ListenConnection {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: options.name,
    connectionTimeoutMillis: 4_000,
    query_timeout: heartbeatTimeoutMs,
    keepAlive: true,
  });
  let heartbeat: Timer | undefined;
  let closing: Promise<void> | null = null;

  function close(error?: Error): Promise<void> {
    if (closing) return closing;
    clearInterval(heartbeat);
    closing = client.end().catch(() => {});
    options.onLost(error);
    return closing;
  }

  client.on('error', close);
  client.on('end', () => close());
  client.on('notification', ({ payload }) => options.onNotification(payload));
  return {
    async open() {
      try {
        await client.connect();
        await client.query(`listen ${options.channel}`);
      } catch (error) {
        void close(error instanceof Error ? error : undefined);
        throw error;
      }
      if (closing) throw new Error('The connection was closed.');
      heartbeat = setInterval(() => client.query('select 1').catch(close), heartbeatMs);
    },
    close: () => close(),
  };
}
