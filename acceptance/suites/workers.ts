import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { type RunningServer, root, startEmbedded } from '../support/server.ts';
import { until } from '../support/until.ts';
import { childrenOf } from './supervised-apps.ts';

/** The program of `npm start`. */
export const supervised = [process.execPath, join(root, 'server/src/supervise.ts')];

export const startWithWorkers = (count: number, options: Parameters<typeof startEmbedded>[0] = {}) =>
  startEmbedded({
    finds: 'prepared',
    ...options,
    command: supervised,
    env: { SVC_WORKERS: String(count), ...options.env },
  });

/** Process IDs of the workers. */
export const workersOf = (server: RunningServer): number[] => childrenOf(server, 'main');

/** Waits until no worker is one of `before`. */
export const untilReplaced = (server: RunningServer, before: readonly number[]) =>
  until(
    'all workers are new ones',
    async () => {
      const now = workersOf(server);
      return now.length === before.length && now.every((pid) => !before.includes(pid)) && now;
    },
    120_000,
  );

export interface KeepAliveConnection {
  ask(
    path: string,
    options?: { method?: string; body?: string; headers?: Record<string, string> },
  ): Promise<{ status: number; text: string }>;
  close(): void;
}

/** One connection, and after its end another one. */
export function keepAliveConnection(server: RunningServer): KeepAliveConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask(path, { method = 'GET', body, headers = {} } = {}) {
      const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
      const sent = request(
        {
          host: '127.0.0.1',
          port: server.port,
          path,
          method,
          agent,
          headers: { host: 'localhost', ...headers },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          );
        },
      );
      sent.on('error', reject);
      sent.end(body);
      return promise;
    },
    close: () => agent.destroy(),
  };
}

/** A connection to this worker: the others are halted while it is opened. */
export async function connectionTo(server: RunningServer, worker: number): Promise<KeepAliveConnection> {
  const others = workersOf(server).filter((pid) => pid !== worker);
  for (const pid of others) process.kill(pid, 'SIGSTOP');
  try {
    const connection = keepAliveConnection(server);
    const { status } = await connection.ask('/healthz');
    if (status !== 200) throw new Error(`/healthz: ${status}`);
    return connection;
  } finally {
    for (const pid of others) process.kill(pid, 'SIGCONT');
  }
}
