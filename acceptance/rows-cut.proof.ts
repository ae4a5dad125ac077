import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { foldEvents, openFeed, type TestFeed } from './support/change-feed.ts';
import { createDatabase, databaseUrlOf } from './support/database.ts';
import { type FaultProxy, startFaultProxy } from './support/fault-proxy.ts';
import { bearer, done } from './support/people.ts';
import { lines, type RowsWorld, rowsWorld, Tally, type TestTable } from './support/rows.ts';
import { type RunningServer, startEmbedded, startServer } from './support/server.ts';
import { until } from './support/until.ts';

/** Rows of one batch, about 150 KB on their way to the database. */
const rowsPerBatch = 2_000;
const fill = 'x'.repeat(40);

describe('the connection to the database of the rows is cut', () => {
  let host: RunningServer;
  let server: RunningServer;
  let proxy: FaultProxy;
  let world: RowsWorld;

  beforeAll(async () => {
    host = await startEmbedded({ env: { SVC_SEED: 'none' } });
    const own = databaseUrlOf(host);
    proxy = await startFaultProxy(await createDatabase(own, 'rows'), /^$/);
    const control = await createDatabase(own, 'control');
    const env = { SVC_DATABASE_URL: control, SVC_DATA_DATABASE_URL: proxy.url, SVC_LOG_LEVEL: 'error' };
    server = await startServer({ env });
    world = await rowsWorld(server);
  });
  afterAll(async () => {
    await server?.stop();
    proxy?.stop();
    await host?.stop();
  });

  const request = (table: TestTable, search: string, init: RequestInit = {}) =>
    fetch(`${server.baseUrl}${table.path}${search}`, {
      ...init,
      headers: { ...bearer(world.owner), ...(init.headers as Record<string, string>) },
    });

  const batch = (table: TestTable, marker: string) =>
    request(table, '', {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': marker },
      body: lines(Array.from({ length: rowsPerBatch }, (_, n) => ({ marker, n, fill }))),
    });

  const stored = async (table: TestTable, marker: string) =>
    (await done(table.send('GET', `/_count?marker=eq.${encodeURIComponent(marker)}`))).count;

  test('in a batch: it is stored whole or not at all, and its repetition stores it once', async () => {
    const table = await world.table(['marker:text', 'n:int', 'fill:text']);
    const statuses = new Tally();
    const toDatabase = [1, 40, 300, 700, 5_000, 40_000, 90_000, 130_000, 150_000];
    const toServer = [0, 5, 20, 60, 110, 160, 210, 260, 320];
    const cuts = [
      ...toDatabase.map((bytes) => ({ to: 'database', bytes }) as const),
      ...toServer.map((bytes) => ({ to: 'server', bytes }) as const),
    ];
    let happened = 0;
    for (const { to, bytes } of cuts) {
      const marker = `${to} ${bytes}`;
      proxy.cutAfter(bytes, to);
      const first = await batch(table, marker);
      statuses.add(first.status);
      await first.text();
      if (proxy.armed() === 0) happened++;
      proxy.cutAfter(Number.POSITIVE_INFINITY, to);
      const count = await stored(table, marker);
      expect([marker, [0, rowsPerBatch].includes(count)]).toEqual([marker, true]);
      if (first.status === 201) expect([marker, count]).toEqual([marker, rowsPerBatch]);
      const answer = await until('the batch is acknowledged', async () => {
        const again = await batch(table, marker);
        const text = await again.text();
        return again.status === 201 && JSON.parse(text);
      });
      expect([marker, await stored(table, marker)]).toEqual([marker, rowsPerBatch]);
      expect(new Set(answer.ids).size).toBe(rowsPerBatch);
    }
    console.log(`cuts in batches: ${happened} of ${cuts.length} happened; ${statuses}`);
    expect(happened).toBeGreaterThan(cuts.length / 2);
    expect(statuses.except(201, 409, 503)).toEqual([]);
  });

  test('in a stream of rows: it is complete, or it does not end as if it were', async () => {
    const table = await world.table(['marker:text', 'n:int', 'fill:text']);
    for (const marker of ['a', 'b', 'c', 'd', 'e']) expect((await batch(table, marker)).status).toBe(201);
    const [statuses, complete] = [new Tally(), 5 * rowsPerBatch];
    let cut = 0;
    for (const bytes of [0, 10, 200, 5_000, 60_000, 200_000, 400_000, 600_000]) {
      proxy.cutAfter(bytes, 'server');
      const response = await request(table, '?sort=marker,n&select=marker,n,fill', {
        headers: { accept: 'application/x-ndjson' },
      });
      statuses.add(response.status);
      const text = await response.text().catch(() => null);
      proxy.cutAfter(Number.POSITIVE_INFINITY, 'server');
      if (text === null) cut++;
      else if (response.status === 200)
        expect([bytes, text.trimEnd().split('\n').length]).toEqual([bytes, complete]);
    }
    console.log(`cuts in streams: ${cut} responses broken off; ${statuses}`);
    expect(cut).toBeGreaterThan(0);
    expect(statuses.except(200, 503)).toEqual([]);
  });

  test('in a list: the page is right or refused', async () => {
    const table = await world.table(['marker:text', 'n:int', 'fill:text']);
    expect((await batch(table, 'list')).status).toBe(201);
    const statuses = new Tally();
    for (let bytes = 0; bytes < 12_000; bytes += 600) {
      proxy.cutAfter(bytes, bytes % 1_200 === 0 ? 'server' : 'database');
      const response = await request(table, '?sort=n&select=n&per_page=100&n=gte.50');
      statuses.add(response.status);
      const { data } = await response.json();
      if (response.status === 200)
        expect(data.map(({ n }: { n: number }) => n)).toEqual(
          Array.from({ length: 100 }, (_, at) => at + 50),
        );
    }
    for (const to of ['server', 'database'] as const) proxy.cutAfter(Number.POSITIVE_INFINITY, to);
    console.log(`cuts in lists: ${statuses}`);
    expect(statuses.except(200, 503)).toEqual([]);
    expect(statuses.count(200)).toBeGreaterThan(0);
  });

  test('under a change feed: its events give the table, without one lost or doubled', async () => {
    const table = await world.table(['marker:text', 'n:int'], { changes: true });
    const rows = new Map<string, unknown>();
    const wrong: string[] = [];
    let feed: TestFeed | null = null;
    let isDone = false;
    let connections = 0;
    const following = (async () => {
      let last: string | null = null;
      while (!isDone) {
        const headers: Record<string, string> = last === null ? {} : { 'last-event-id': last };
        const url = `${server.baseUrl}${table.path}/_changes?snapshot=true`;
        const opened = await openFeed(url, { ...bearer(world.owner), ...headers }, (event) => {
          wrong.push(...foldEvents([event], rows).wrong);
        });
        if (opened.status !== 200) continue;
        connections++;
        feed = opened;
        await opened.ended;
        last = opened.lastEventId() ?? last;
        if (last === null) rows.clear();
      }
    })();
    await until('the feed is open', async () => feed?.events.some(({ event }) => event === 'ready'));
    const statuses = new Tally();
    for (let n = 0; n < 120; n++) {
      if (n % 10 === 0) proxy.cutAfter(37 * n, n % 20 === 0 ? 'server' : 'database');
      const headers = { 'content-type': 'application/json', 'idempotency-key': `write ${n}` };
      const body = JSON.stringify({ marker: `m${n}`, n });
      await until('the row is acknowledged', async () => {
        const response = await request(table, '', { method: 'POST', headers, body });
        await response.text();
        statuses.add(response.status);
        return response.status === 201;
      });
    }
    for (const to of ['server', 'database'] as const) proxy.cutAfter(Number.POSITIVE_INFINITY, to);
    const expected = await done(table.send('GET', '?sort=n&per_page=200'));
    expect(expected.data.map(({ n }: { n: number }) => n)).toEqual(Array.from({ length: 120 }, (_, n) => n));
    await until('the feed has all rows', async () => rows.size === 120);
    for (const row of expected.data) expect(rows.get(row.id)).toEqual(row);
    expect(wrong).toEqual([]);
    isDone = true;
    (feed as TestFeed | null)?.cut();
    await following;
    console.log(`cuts under a feed: ${connections} connections of the feed; ${statuses}`);
    expect(statuses.except(201, 409, 503)).toEqual([]);
  });
});
