import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { openServerDatabase } from './support/database.ts';
import { insertLines, newTable, type RowsWorld, rowsWorld, Tally } from './support/rows.ts';
import { startEmbedded } from './support/server.ts';
import type { SlowOrder, SlowReport } from './support/slow-clients-worker.ts';
import { keepAsking, until } from './support/until.ts';

/** Of each kind. */
const slowCount = 100;
const rounds = 5;
const askedForMs = 4_000;
/** By so much may the p99 of others rise while the server answers a hundred requests for six megabytes at once. */
const addedMsMax = 250;
const rowsCount = 6_000;
const raisedMax = 1.5;

/** The limits of one listener are tested beside it (`raw-listener-limits.test.ts`); here, that others do not notice. */
test('hundreds of clients that send a byte at a time, or do not read, do not slow others down', async () => {
  const server = await startEmbedded();
  const world = await rowsWorld(server);
  await newTable(world, 'wide', ['n:int', 'text:text']);
  const path = `${world.data}/wide`;
  const text = 'x'.repeat(1_000);
  await insertLines(
    world.owner,
    path,
    Array.from({ length: rowsCount }, (_, n) => ({ n, text })),
  );
  const slow = startSlowClients(slowOrder(world, path));
  const database = openServerDatabase(server);
  const hasNone = (condition: string) => async () => {
    const [row] = await database.query(
      `select count(*)::int as found from pg_stat_activity where usename = 'svc_rows' and ${condition}`,
    );
    return row?.found === 0;
  };
  const isIdle = hasNone(`state <> 'idle'`);
  const isStill = hasNone(`state = 'active' and wait_event is distinct from 'ClientWrite'`);
  await ask(world, path);
  const filesBefore = openFiles(server.pid);
  const tally = new Tally();
  const ratios: number[] = [];
  const added: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const before = await ask(world, path, tally);
      await slow.connect();
      const first = await ask(world, path, tally);
      added.push(first.p99 - before.p99);
      await until('nothing more is sent to those that do not read', isStill, 30_000);
      const during = await ask(world, path, tally);
      const left = await slow.look();
      ratios.push(during.p99 / before.p99);
      console.log(
        `slow clients: ${left.join(' + ')} of ${slowCount} each after ${askedForMs / 1000} s; others: ${before} before, ${first} when they came, ${during} beside them`,
      );
      // A client that has sent no whole request in ten seconds is cut off.
      if (round === rounds - 1)
        await until('heads byte by byte are cut off', async () => (await slow.look())[0] === 0, 30_000);
      await slow.leave();
      const areClosed = async () => openFiles(server.pid) <= filesBefore + 20;
      await until('their connections are closed', areClosed, 60_000);
      await until('no statement or transaction of theirs is left', isIdle, 90_000);
    }
  } finally {
    slow.end();
  }
  await database.close();
  console.log(
    `slow clients: ratio of p99 in ${rounds} rounds: median ${median(ratios).toFixed(2)} of ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}; when they came ${median(added).toFixed(1)} ms more`,
  );
  expect(tally.except(200, 201)).toEqual([]);
  expect(median(ratios)).toBeLessThan(raisedMax);
  expect(median(added)).toBeLessThan(addedMsMax);
  expect(await server.stop()).toBe(0);
});

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

/** Heads and bodies that arrive byte by byte, and requests for all rows, six megabytes, that nobody reads. */
function slowOrder({ owner, server: { port } }: RowsWorld, path: string): SlowOrder {
  const head = (line: string, more = '') =>
    `${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${owner.token}\r\n${more}`;
  const body = JSON.stringify({ n: -1, text: 'x'.repeat(500) });
  const sent = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return {
    port,
    count: slowCount,
    drips: [
      { first: 'GET ', rest: head(`${path}?per_page=1`) },
      { first: head(`POST ${path}`, sent), rest: body },
    ],
    byteMs: 200,
    unread: head(`GET ${path}`, 'Accept: application/x-ndjson\r\n\r\n'),
  };
}

function startSlowClients(order: SlowOrder) {
  const worker = new Worker(new URL('./support/slow-clients-worker.ts', import.meta.url).href);
  const send = (message: SlowOrder | 'look' | 'leave') =>
    new Promise<number[]>((resolve) => {
      worker.onmessage = ({ data }: MessageEvent<SlowReport>) => resolve(data.connected);
      worker.postMessage(message);
    });
  return {
    async connect() {
      await send(order);
      const areConnected = async () => (await send('look')).every((count) => count === slowCount);
      await until('all are connected', areConnected, 30_000);
    },
    look: () => send('look'),
    leave: () => send('leave'),
    end: () => worker.terminate(),
  };
}

interface ResponseTimes {
  p99: number;
  toString(): string;
}

/** Reads and writes of somebody else meanwhile. */
async function ask(world: RowsWorld, path: string, tally = new Tally()): Promise<ResponseTimes> {
  const times: number[] = [];
  const calls = [
    () => world.owner.call('GET', `${path}?per_page=5`),
    () => world.owner.call('POST', path, { n: 1, text: 'quick' }),
    () => world.owner.call('GET', `${path}?n=eq.7&per_page=1`),
    () => world.owner.call('GET', world.tables),
  ];
  let sent = 0;
  const asking = keepAsking(
    async () => {
      const begun = performance.now();
      const { status } = await calls[sent++ % calls.length]!();
      times.push(performance.now() - begun);
      tally.add(status);
    },
    { clients: 4, pauseMs: 10 },
  );
  await Bun.sleep(askedForMs); // The length of the measurement.
  await asking.stop();
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
  return { p99, toString: () => `${times.length} answers, p99 ${p99.toFixed(1)} ms` };
}
