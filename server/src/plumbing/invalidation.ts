import pg from 'pg';
import type { Logger } from 'pino';

const channel = 'svc_changed';
const reconnectMs = 250;
/** For the first connection, by which the server starts or does not. */
const startMsMax = 30_000;
/** A connection cut without a word looks open: asked this often, and given this long to answer. */
const heartbeatMs = 400;
const heartbeatAnswerMs = 500;

/**
 * Hears what other copies of the server (and this one) have changed. While the connection that listens is down,
 * nothing may be served from a cache: `isLive` is false, and becomes true again only after everything was dropped.
 */
export interface Invalidation {
  isLive(): boolean;
  onChange(listener: (tag: string | null) => void): void;
  /** What this copy has just committed: it need not wait to hear of it. */
  tell(tag: string): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function listenForChanges(options: { url: string; log: Logger }): Invalidation {
  const listeners: ((tag: string | null) => void)[] = [];
  let client: pg.Client | null = null;
  let live = false;
  let stopped = false;
  let heartbeat: Timer | undefined;

  function tell(tag: string | null): void {
    for (const listener of listeners) listener(tag);
  }

  async function connect(): Promise<void> {
    if (stopped) return;
    const next = new pg.Client({
      connectionString: options.url,
      application_name: 'svc listen',
      connectionTimeoutMillis: 4_000,
      query_timeout: heartbeatAnswerMs,
      keepAlive: true,
    });
    client = next;
    const lost = (error?: Error) => {
      if (client !== next) return;
      client = null;
      live = false;
      clearInterval(heartbeat);
      next.end().catch(() => {});
      tell(null);
      if (stopped) return;
      options.log.warn(
        { err: error },
        'lost the connection that hears of changes; caches are off until it is back',
      );
      setTimeout(() => void connect().catch(() => {}), reconnectMs);
    };
    next.on('error', lost);
    next.on('end', () => lost());
    next.on('notification', (message) => tell(message.payload ?? null));
    try {
      await next.connect();
      await next.query(`listen ${channel}`);
      // Stopped while it was being made: nobody else would close it.
      if (stopped) return await next.end();
      tell(null);
      live = true;
      heartbeat = setInterval(() => next.query('select 1').catch(lost), heartbeatMs);
    } catch (error) {
      lost(error instanceof Error ? error : undefined);
      await next.end().catch(() => {});
      throw error;
    }
  }

  return {
    isLive: () => live,
    onChange: (listener) => void listeners.push(listener),
    tell,
    async start() {
      const deadline = performance.now() + startMsMax;
      await connect().catch(async (error: unknown) => {
        // It goes on trying by itself.
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
