import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';

/** `before`: the database never receives the commit. `after`: it commits, and nobody hears of it. */
export type CommitFault = 'before' | 'after';

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;

/** Between a server and its database. A transaction counts if one of its statements matches. */
export async function startFaultProxy(databaseUrl: string, counts: RegExp) {
  const { host, port: databasePort } = new pg.Client({ connectionString: databaseUrl });
  const target = host.startsWith('/')
    ? { path: join(host, `.s.PGSQL.${databasePort}`) }
    : { host, port: databasePort };
  const sockets = new Set<Socket>();
  let faults: CommitFault[] = [];
  const left = { database: Number.POSITIVE_INFINITY, server: Number.POSITIVE_INFINITY };
  /** What is sent of a chunk, where the connection is cut after it. */
  const partOf = (chunk: Buffer, to: keyof typeof left): Buffer | null => {
    left[to] -= chunk.length;
    if (left[to] >= 0) return null;
    const part = chunk.subarray(0, chunk.length + left[to]);
    left[to] = Number.POSITIVE_INFINITY;
    return part;
  };

  const server = createServer((client) => {
    const database = connect(target);
    const cut = () => {
      for (const socket of [client, database]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', cut).on('close', cut);
    }
    let isCounted = false;
    let isMuted = false;
    /** Prepared statements that count: later messages have only their names. */
    const prepared = new Set<string>();
    client.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      const isCounting = counts.test(text);
      const name = parseMessage.exec(text)?.[1];
      if (name && isCounting) prepared.add(name);
      const bound = bindMessage.exec(text)?.[1];
      const isBound = bound !== undefined && prepared.has(bound);
      isCounted = !beginMessage.test(text) && (isCounted || isCounting || isBound);
      if (commitMessage.test(text)) {
        const fault = isCounted ? faults.shift() : undefined;
        isCounted = false;
        if (fault === 'before') return cut();
        isMuted = fault === 'after';
      }
      const part = partOf(chunk, 'database');
      if (part) database.end(part, cut);
      else database.write(chunk);
    });
    database.on('data', (chunk: Buffer) => {
      if (isMuted) return cut();
      const part = partOf(chunk, 'server');
      if (part) client.end(part, cut);
      else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.searchParams.delete('port');
  return {
    url: Object.assign(url, { hostname: '127.0.0.1', port: String(port) }).href,
    /** Cuts the connections of the next commits of transactions that the pattern marks. */
    arm(next: readonly CommitFault[]) {
      faults = [...next];
    },
    /** Cuts the connection on which these bytes, counted over all connections, are sent next. */
    cutAfter(bytes: number, to: keyof typeof left) {
      left[to] = bytes;
    },
    /** Faults that have not happened. */
    armed: () => faults.length + Object.values(left).filter(Number.isFinite).length,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** `Q`, a length of four bytes, the text, and a zero. */
const beginMessage = /^Q[\s\S]{4}begin\0$/;
const commitMessage = /^Q[\s\S]{4}commit\0$/;
/** `P`, a length, and the name of the statement. */
const parseMessage = /^P[\s\S]{4}([^\0]+)\0/;
/** `B`, a length, no name of a portal, and the name of the statement. */
const bindMessage = /^B[\s\S]{4}\0([^\0]+)\0/;
