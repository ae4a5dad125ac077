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
  let client: pg.Client | null = null;
  let live = false;
  let stopped = false;
  let heartbeat: Timer | undefined;

  function notify(tag: string | null): void {
    for (const listener of listeners) listener(tag);
  }

  async function connect(): Promise<void> {
    if (stopped) return;
    const next = new pg.Client({
      connectionString: options.url,
      application_name: 'svc listen',
      connectionTimeoutMillis: 4_000,
      query_timeout: heartbeatTimeoutMs,
      keepAlive: true,
    });
    client = next;
    const onLost = (error?: Error) => {
      if (client !== next) return;
      client = null;
      live = false;
      clearInterval(heartbeat);
      next.end().catch(() => {});
      notify(null);
      if (stopped) return;
      options.log.warn({ err: error }, 'invalidation connection lost; caches are off until it is back');
      setTimeout(() => void connect().catch(() => {}), reconnectMs);
    };
    next.on('error', onLost);
    next.on('end', () => onLost());
    next.on('notification', (message) => notify(message.payload ?? null));
    try {
      await next.connect();
      await next.query(`listen ${channel}`);
      // `stop` may have run while this connection was being opened.
      if (stopped) return await next.end();
      notify(null);
      live = true;
      heartbeat = setInterval(() => next.query('select 1').catch(onLost), heartbeatMs);
    } catch (error) {
      onLost(error instanceof Error ? error : undefined);
      await next.end().catch(() => {});
      throw error;
    }
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
      clearInterval(heartbeat);
      await client?.end().catch(() => {});
    },
  };
}

export const notifySql = `select pg_notify('${channel}', $1)`;
