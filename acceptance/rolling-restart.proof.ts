import { expect, test } from 'bun:test';
import { createLoadClient, rawRequest } from './suites/load-client.ts';
import { connectionTo, startWithWorkers, untilReplaced, workersOf } from './suites/workers.ts';
import { hasNginx, startPlainNginx } from './support/nginx.ts';
import { bearer } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';
import { freePort, type RunningServer, readMetrics, temporaryFolder } from './support/server.ts';
import { newRelease, newSite, setVisibility } from './support/sites.ts';
import { until } from './support/until.ts';

const requestsMin = 100_000;
const replacements = 6;
const clients = 16;

test.if(hasNginx)(
  'no request fails behind nginx with default settings while the workers are replaced again and again',
  async () => {
    const server = await startBehindNginx();
    const { requests, inserted } = await newRequests(server);
    const seen = { answers: 0, failed: new Map<string, number>(), inserts: 0, replaced: 0 };
    const fail = (what: string) => seen.failed.set(what, (seen.failed.get(what) ?? 0) + 1);

    const isOver = () => seen.answers >= requestsMin && seen.replaced >= replacements;

    async function ask(first: number): Promise<void> {
      const client = createLoadClient(server.port);
      for (let at = first; !isOver(); at++) {
        const { name, text, status } = requests[at % requests.length]!;
        try {
          const answer = await client.send(text);
          if (answer.status === status) seen.answers++;
          else fail(`${name}: ${answer.status} ${answer.body.slice(0, 200)}`);
          if (answer.status === 201) seen.inserts++;
        } catch (error) {
          fail(`${name}: ${error instanceof Error ? error.message : error}`);
        }
      }
      client.close();
    }

    /** Spread over the requests. */
    async function replace(): Promise<void> {
      while (seen.replaced < replacements) {
        const due = ((seen.replaced + 0.5) / replacements) * requestsMin;
        await until('the next replacement is due', async () => seen.answers >= due, 600_000);
        const before = workersOf(server);
        server.signal('SIGHUP');
        await untilReplaced(server, before);
        seen.replaced++;
      }
    }

    const startedAt = performance.now();
    await Promise.all([replace(), ...Array.from({ length: clients }, (_, at) => ask(at * 7))]);
    const seconds = (performance.now() - startedAt) / 1_000;
    console.log(
      `${seen.answers} answers in ${seconds.toFixed(1)} s, ${seen.replaced} times all workers replaced, ${[...seen.failed.values()].reduce((sum, count) => sum + count, 0)} failed`,
    );
    expect([...seen.failed]).toEqual([]);
    expect(await inserted()).toBe(seen.inserts);
    expect(await server.stop()).toBe(0);
  },
);

test('a worker that is killed is replaced, and requests to the other go on', async () => {
  const server = await startWithWorkers(2);
  await untilTwo(server);
  for (let round = 0; round < 3; round++) {
    const [killed, other] = workersOf(server);
    const connection = await connectionTo(server, other!);
    process.kill(killed!, 'SIGKILL');
    let answers = 0;
    await until(
      'another worker is there',
      async () => {
        for (let at = 0; at < 50; at++) {
          expect((await connection.ask('/readyz')).status).toBe(200);
          answers++;
        }
        const now = workersOf(server);
        return now.length === 2 && !now.includes(killed!);
      },
      60_000,
    );
    await untilTwo(server);
    connection.close();
    expect(answers).toBeGreaterThan(0);
    expect(workersOf(server)).toContain(other!);
  }
  expect(await server.stop()).toBe(0);
});

const untilTwo = (server: RunningServer) =>
  until(
    'two workers are ready',
    async () => (await readMetrics(server)).match(/^process_start_time_seconds\{/gm)?.length === 2,
    60_000,
  );

/** The port of the server is nginx's, so that helpers of other tests use it. */
async function startBehindNginx(): Promise<RunningServer> {
  const [port, own] = [freePort(), freePort()];
  const server = await startWithWorkers(2, {
    port,
    env: {
      SVC_PORT: String(own),
      SVC_BASE_URL: `http://localhost:${port}`,
      SVC_TRUSTED_PROXIES: 'loopback',
      SVC_CHECK_ANSWERS: 'false',
    },
  });
  await startPlainNginx(server, { upstream: `127.0.0.1:${own}`, folder: temporaryFolder() });
  await untilTwo(server);
  return server;
}

/** Reads of a row, files of a site, calls of the API and inserts, in this order of frequency. */
async function newRequests(server: RunningServer) {
  const world = await rowsWorld(server);
  const table = await world.table(['title:text']);
  const [{ id }] = await table.insert({ title: 'read' });
  const written = await world.table(['title:text']);
  const site = await newSite(server, world.tenant);
  await newRelease(site, { 'index.html': '<p>hello' }, { on_finalize: 'deploy' });
  await setVisibility(site, 'internet');
  const host = `localhost:${server.port}`;
  const headers = { host, ...bearer(world.owner) };
  const row = { name: 'row', status: 200, text: rawRequest('GET', `${table.path}/${id}`, headers) };
  const file = {
    name: 'site',
    status: 200,
    text: rawRequest('GET', '/', { host: `${site.host}:${server.port}` }),
  };
  const call = { name: 'api', status: 200, text: rawRequest('GET', world.tables, headers) };
  const body = JSON.stringify({ title: 'written' });
  const insert = {
    name: 'insert',
    status: 201,
    text: rawRequest('POST', written.path, { ...headers, 'content-type': 'application/json', body }),
  };
  return {
    requests: [
      row,
      file,
      row,
      file,
      row,
      call,
      row,
      file,
      row,
      file,
      row,
      file,
      row,
      insert,
      row,
      file,
      row,
      call,
      row,
      file,
    ],
    inserted: async () => (await written.send('GET', '/_count')).body.count as number,
  };
}
