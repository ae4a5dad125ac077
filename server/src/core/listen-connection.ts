import pg from 'pg';

/** A connection that the network drops silently still looks open; a heartbeat finds out. */
const heartbeatMs = 400;
const heartbeatTimeoutMs = 500;

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
