import { expect, test } from 'bun:test';
import { connect, createServer, type Socket } from 'node:net';
import { upstreamAddress } from '../../drivers/raw-database/raw-databases.ts';
import type { RowPool } from '../../drivers/row-database/row-pool.ts';
import { silentLog, useTestDatabase } from '../../testing.ts';
import { createFeedHub, type Follower } from './feed-hub.ts';

const database = useTestDatabase();

/** Between a client and the database. Connections stay open after `goSilent`, but nothing more arrives on them. */
async function startRelay(url: string) {
  const sockets: Socket[] = [];
  let accepted = 0;
  const server = createServer((client) => {
    accepted++;
    const upstream = connect(upstreamAddress(url));
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) socket.on('error', () => {});
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const relayed = new URL(url);
  relayed.hostname = '127.0.0.1';
  relayed.port = String((server.address() as { port: number }).port);
  for (const name of ['host', 'port']) relayed.searchParams.delete(name);
  return {
    url: relayed.href,
    accepted: () => accepted,
    goSilent() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await Bun.sleep(10);
}

test('a connection for notifications that goes silent is replaced', async () => {
  await using relay = await startRelay(database.rowsUrl);
  const { rowDb, hasRead } = recordReads();
  const hub = createFeedHub({ rowDb, url: relay.url, invalidation: { onChange: () => {} }, log: silentLog });
  const follower: Follower = {
    userId: 'u',
    advance: () => {},
    checkAccess: async () => {},
    end: () => {},
  };
  hub.join({ id: 't', appId: 'a', log: 'none' }, follower);
  try {
    await hasRead;
    relay.goSilent();
    await until(() => relay.accepted() === 2);
    expect(relay.accepted()).toBe(2);
  } finally {
    hub.close();
  }
});

/** The hub reads once it listens. */
function recordReads() {
  const first = Promise.withResolvers<void>();
  const run = async () => {
    first.resolve();
    return { rows: [] };
  };
  return { rowDb: { of: () => ({ run }) } as unknown as RowPool, hasRead: first.promise };
}
