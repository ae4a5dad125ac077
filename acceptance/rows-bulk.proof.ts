import { expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { bearer, caller, newApp } from './support/people.ts';
import { newRandom } from './support/random.ts';
import { insertLines, newTable, rowPaths, rowsWorld, Tally } from './support/rows.ts';
import { type RunningServer, startEmbedded } from './support/server.ts';
import { until } from './support/until.ts';

const world = useFixture(rowsWorld);

test('changes by filter, of single rows and by batches at once: each row is claimed by exactly one', async () => {
  const random = newRandom();
  const rowsCount = 1_500;
  const jobs = await world.table(['n:int', 'worker:text:nullable']);
  const ids = await insertLines(
    world.owner,
    jobs.path,
    Array.from({ length: rowsCount }, (_, n) => ({ n })),
  );
  const batch = caller(world.server, bearer(world.owner), `${world.data}/_batch`);
  const claims = new Map<string, string[]>();
  const statuses = new Tally();
  const claim = (worker: string, claimed: readonly unknown[]) => {
    for (const id of claimed) claims.set(String(id), [...(claims.get(String(id)) ?? []), worker]);
  };
  const free = async () => (await jobs.send('GET', '/_count?worker=is.null')).body.count as number;
  const isOver = async () => claims.size >= rowsCount || (await free()) === 0;

  const byFilter = async (worker: string) => {
    while (!(await isOver())) {
      const from = random.below(rowsCount);
      const search = `?worker=is.null&n=between.(${from},${from + 60})&max_affected=100`;
      const { status, body } = await jobs.send('PATCH', search, { worker });
      statuses.add(status);
      if (status === 200) claim(worker, body.ids);
    }
  };
  const oneByOne = async (worker: string) => {
    while (!(await isOver())) {
      const [row] = (await jobs.send('GET', `?worker=is.null&n=gte.${random.below(rowsCount)}&per_page=1`))
        .body.data;
      if (!row) continue;
      const { headers, body } = await jobs.send('GET', `/${row.id}`);
      if (body.worker !== null) continue;
      const ifMatch = { 'if-match': headers.get('etag') ?? '' };
      const { status } = await jobs.send('PATCH', `/${row.id}`, { worker }, ifMatch);
      statuses.add(status);
      if (status === 200) claim(worker, [row.id]);
    }
  };
  /** Two rows in any order, so that batches wait for each other. */
  const byBatch = async (worker: string) => {
    while (!(await isOver())) {
      const pair = [random.below(rowsCount), random.below(rowsCount)];
      const read = await Promise.all(pair.map((at) => jobs.send('GET', `/${ids[at]}`)));
      if (pair[0] === pair[1] || read.some(({ body }) => body.worker !== null)) continue;
      const operations = read.map(({ body, headers }) => ({
        op: 'update',
        table: jobs.name,
        id: body.id,
        if_match: headers.get('etag'),
        values: { worker },
      }));
      const { status } = await batch('POST', '', { operations });
      statuses.add(status);
      if (status === 200)
        claim(
          worker,
          pair.map((at) => ids[at]),
        );
    }
  };
  await Promise.all([
    ...['f1', 'f2', 'f3'].map(byFilter),
    ...['s1', 's2'].map(oneByOne),
    ...['b1', 'b2', 'b3'].map(byBatch),
  ]);
  const stored = new Map<string, string>();
  for (let at = 0; at < rowsCount; at += 200)
    for (const { id, worker } of await jobs.list(`?sort=n&n=gte.${at}&n=lt.${at + 200}&per_page=200`))
      stored.set(id, worker);
  const wrong = [...stored].filter(([id, worker]) => claims.get(id)?.join() !== worker);
  console.log(
    `rows bulk: seed ${random.seed}; ${rowsCount} rows, ${claims.size} claimed; ${statuses}; wrong: ${wrong.length}`,
  );
  expect([stored.size, claims.size, wrong]).toEqual([rowsCount, rowsCount, []]);
  expect(statuses.except(200, 412)).toEqual([]);
  let deleted = 0;
  for (const worker of ['f1', 'f2', 'f3', 's1', 's2', 'b1', 'b2', 'b3'])
    deleted += (await jobs.send('DELETE', `?worker=eq.${worker}&max_affected=${rowsCount}`)).body.deleted;
  expect([deleted, await jobs.list()]).toEqual([rowsCount, []]);
});

test('batches that lock the same rows in opposite orders are all done', async () => {
  const accounts = await world.table(['owner:text', 'note:text:nullable']);
  const rows = await accounts.insert({ owner: 'a' }, { owner: 'b' }, { owner: 'c' }, { owner: 'd' });
  const batch = caller(world.server, bearer(world.owner), `${world.data}/_batch`);
  const rounds = 40;
  const answers = await Promise.all(
    Array.from({ length: rounds }, (_, round) => {
      const order = round % 2 === 0 ? rows : rows.toReversed();
      const operations = order.map(({ id }) => ({
        op: 'update',
        table: accounts.name,
        id,
        values: { note: `round ${round}` },
      }));
      return batch('POST', '', { operations });
    }),
  );
  expect(answers.filter(({ status }) => status !== 200).map(({ body }) => body)).toEqual([]);
  // Whichever was last, it was whole.
  expect(new Set((await accounts.list()).map(({ note }) => note)).size).toBe(1);
});

test('kill -9 in the middle of batches over two tables leaves no half one, loses none and makes none twice', async () => {
  const random = newRandom();
  const linesPerOrder = 5;
  let server: RunningServer = await startEmbedded();
  const ground = await rowsWorld(server);
  const app = await newApp(ground.tenant, { owner: ground.owner });
  const places = rowPaths(ground.tenant, app);
  await newTable({ ...ground, ...places }, 'orders', ['marker:text']);
  await newTable({ ...ground, ...places }, 'lines', ['order:uuid', 'n:int']);
  const statuses = new Tally();
  const orders: { marker: string; id: string }[] = [];
  let [sent, over] = [0, false];

  const isReady = () =>
    fetch(`${server.baseUrl}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  const send = (marker: string) =>
    fetch(`${server.baseUrl}${places.data}/_batch`, {
      method: 'POST',
      headers: { ...bearer(ground.owner), 'content-type': 'application/json', 'idempotency-key': marker },
      body: JSON.stringify({
        operations: [
          { op: 'insert', table: 'orders', as: 'order', values: { marker } },
          ...Array.from({ length: linesPerOrder }, (_, n) => ({
            op: 'insert',
            table: 'lines',
            values: { order: { $ref: 'order.id' }, n },
          })),
        ],
      }),
    });
  const client = async () => {
    while (!over) {
      const marker = `order ${++sent}`;
      await until(
        'the batch is acknowledged',
        async () => {
          const response = await send(marker).catch(() => null);
          const text = await response?.text().catch(() => null);
          statuses.add(response && typeof text === 'string' ? response.status : 'no answer');
          if (response?.status !== 200 || typeof text !== 'string') {
            await until('the server is back', isReady, 60_000);
            return false;
          }
          orders.push({ marker, id: JSON.parse(text).results[0].id });
          return true;
        },
        120_000,
      );
    }
  };
  const clients = Array.from({ length: 6 }, client);
  for (let kill = 0; kill < 4; kill++) {
    const wanted = orders.length + 20 + random.below(40);
    await until('some were acknowledged', async () => orders.length >= wanted, 60_000);
    await Bun.sleep(random.below(30));
    server.signal('SIGKILL');
    await server.exited;
    server = await startEmbedded({ dataDir: server.dataDir, port: server.port });
  }
  over = true;
  await Promise.all(clients);
  const exported = async (table: string) => {
    const response = await fetch(`${server.baseUrl}${places.data}/${table}`, {
      headers: { ...bearer(ground.owner), accept: 'application/x-ndjson' },
    });
    const text = (await response.text()).trimEnd();
    return text.split('\n').map((line) => JSON.parse(line) as Record<string, string>);
  };
  const stored = await exported('orders');
  const linesOf = new Tally();
  for (const { order } of await exported('lines')) linesOf.add(order!);
  const half = stored.filter(({ id }) => linesOf.count(id!) !== linesPerOrder).length;
  const byMarker = new Map(stored.map(({ marker, id }) => [marker, id]));
  const wrong = orders.filter(({ marker, id }) => byMarker.get(marker) !== id);
  console.log(
    `rows bulk: seed ${random.seed}; 4 kills, ${orders.length} batches; half: ${half}, lost or doubled: ${wrong.length}; ${statuses}`,
  );
  expect({ half, wrong, stored: stored.length, markers: byMarker.size }).toEqual({
    half: 0,
    wrong: [],
    stored: orders.length,
    markers: orders.length,
  });
  expect(statuses.except(200, 409, 503, 'no answer')).toEqual([]);
  await server.stop();
}, 240_000);
