import type { Logger } from 'pino';
import { createListenConnection, type ListenConnection } from './listen-connection.ts';

const channel = 'svc_changed';
const reconnectMs = 250;
const startMsMax = 30_000;

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
