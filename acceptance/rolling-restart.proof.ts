import { expect, test } from 'bun:test';
import { freePort } from '../scripts/free-port.ts';
import { createLoadClient, rawRequest } from './suites/load-client.ts';
import { connectionTo, startWithWorkers, supervised, untilReplaced, workersOf } from './suites/workers.ts';
import { bearer } from './support/people.ts';
import { hasPostgres15, startPostgres15 } from './support/postgres15.ts';
import { hasNginx, startPlainNginx } from './support/reverse-proxies.ts';
import { rowsWorld } from './support/rows.ts';
import { hasS3Server, startS3 } from './support/s3.ts';
import { endWith, type RunningServer, readMetrics, startServer, temporaryFolder } from './support/server.ts';
import { newRelease, newSite, setVisibility } from './support/sites.ts';
import { until } from './support/until.ts';

const clients = 16;

const proxies = [
  ['nginx with default settings', false],
  ['an nginx that keeps its connections', true],
] as const;

test.if(hasNginx).each(proxies)(
  'no request fails behind %s while the workers are replaced again and again',
  async (_, keeps) => {
    const server = await startBehindNginx(keeps);
    const { requests, storedTitles } = await newRequests(server);
    const seen = await askDuring(server.port, requests, {
      requestsMin: 100_000,
      changes: 6,
      async change() {
        const before = workersOf(server);
        server.signal('SIGHUP');
        await untilReplaced(server, before);
      },
    });
    console.log(`${seen}, all workers replaced each time`);
    expect([...seen.failed]).toEqual([]);
    expectEachOnce(seen, await storedTitles());
    expect(await server.stop()).toBe(0);
  },
);

const hasCopies = hasNginx && hasPostgres15 && hasS3Server;
const requestsMin = Number(process.env.SVC_TEST_COPY_REQUESTS ?? 20_000);

test.if(hasCopies).each(proxies)(
  'no request fails behind %s while three copies are stopped and started one after the other',
  async (_, keeps) => {
    const { copies, seen, stored } = await askWhileReplacing(keeps, async (copy) =>
      expect(await copy.stop()).toBe(0),
    );
    console.log(`${seen}, a copy stopped and started each time`);
    if (seen.failed.size > 0) for (const copy of copies) console.error(copy.output());
    expect([...seen.failed]).toEqual([]);
    expectEachOnce(seen, stored);
  },
);

test.if(hasCopies).each(proxies)(
  'no acknowledged insert is lost or doubled behind %s while three copies are killed one after the other',
  async (_, keeps) => {
    const { copies, seen, stored } = await askWhileReplacing(keeps, async (copy) => {
      for (const pid of [copy.pid, ...workersOf(copy)]) process.kill(pid, 'SIGKILL');
      await copy.exited;
    });
    console.log(`${seen}, a copy killed and started each time`);
    // nginx sends no insert again, and no answer that has begun.
    const failed = [...seen.failed.values()].reduce((sum, count) => sum + count, 0);
    expect(failed).toBeLessThanOrEqual(copies.length * clients);
    expectEachOnce(seen, stored);
  },
);

/** A failed insert may be stored, but like an acknowledged one not twice. */
function expectEachOnce({ acknowledged, unacknowledged }: Seen, stored: readonly string[]): void {
  const counts = new Map<string, number>();
  for (const title of stored) counts.set(title, (counts.get(title) ?? 0) + 1);
  expect(acknowledged.size).toBeGreaterThan(0);
  expect({
    lost: [...acknowledged].filter((title) => !counts.has(title)),
    doubled: [...counts].filter(([, count]) => count > 1),
    unknown: [...counts.keys()].filter((title) => !acknowledged.has(title) && !unacknowledged.has(title)),
  }).toEqual({ lost: [], doubled: [], unknown: [] });
}

async function askWhileReplacing(keeps: boolean, end: (copy: RunningServer) => Promise<void>) {
  const copies = await startCopies(keeps);
  const { requests, storedTitles } = await newRequests(copies.all[0]!);
  const change = (at: number) => copies.replace(at, end);
  const seen = await askDuring(copies.port, requests, { requestsMin, changes: 3, change });
  const stored = await storedTitles();
  await copies.stop();
  return { copies: copies.all, seen, stored };
}

/** Three copies of `npm start` on one PostgreSQL and one S3 server, behind nginx. */
async function startCopies(keeps: boolean) {
  const [postgres, s3] = await Promise.all([startPostgres15(), startS3()]);
  const port = freePort();
  const env = {
    ...(await s3.env()),
    SVC_DATABASE_URL: postgres.url('postgres'),
    SVC_SEED: 'none',
    SVC_LOG_LEVEL: 'warn',
    SVC_BASE_URL: `http://localhost:${port}`,
    SVC_TRUSTED_PROXIES: 'loopback',
    SVC_CHECK_ANSWERS: 'false',
  };
  const ports = [freePort(), freePort(), freePort()];
  const start = (own: number, dataDir?: string) =>
    startServer({ port, dataDir, command: supervised, env: { ...env, SVC_PORT: String(own) } });
  const running = await Promise.all(ports.map((own) => start(own)));
  const all = [...running];
  const stopNginx = await startPlainNginx(running[0]!, {
    upstreams: ports.map((own) => `127.0.0.1:${own}`),
    folder: temporaryFolder(),
    keeps,
  });
  return {
    port,
    /** Also those that have ended. */
    all,
    async replace(at: number, end: (copy: RunningServer) => Promise<void>) {
      const copy = running[at]!;
      await end(copy);
      running[at] = await start(ports[at]!, copy.dataDir);
      all.push(running[at]);
      // nginx leaves out a server that refused a connection, for ten seconds: without the other two none would be left.
      const baseUrl = `http://127.0.0.1:${ports[at]}`;
      const isUsed = async () => /^svc_rows_requests_total\{/m.test(await readMetrics({ baseUrl }));
      await until('nginx sends requests to it again', isUsed, 60_000);
    },
    async stop() {
      await stopNginx();
      expect(await Promise.all(running.map((copy) => copy.stop()))).toEqual([0, 0, 0]);
      await s3.stop();
      await postgres.stop();
    },
  };
}

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

interface LoadRequest {
  name: string;
  status: number;
  /** As it is sent; that of an insert contains the title of the row. */
  text: string | ((title: string) => string);
}

interface Seen {
  answers: number;
  /** Titles of the inserts that were answered with 201. */
  acknowledged: Set<string>;
  /** Titles of the other inserts. */
  unacknowledged: Set<string>;
  failed: Map<string, number>;
  toString(): string;
}

/** Sends requests until so many are answered and all changes are made, which are spread over them. */
async function askDuring(
  port: number,
  requests: readonly LoadRequest[],
  {
    requestsMin,
    changes,
    change,
  }: { requestsMin: number; changes: number; change: (at: number) => Promise<void> },
): Promise<Seen> {
  const seen = {
    answers: 0,
    acknowledged: new Set<string>(),
    unacknowledged: new Set<string>(),
    failed: new Map<string, number>(),
    changed: 0,
  };
  const fail = (what: string) => seen.failed.set(what, (seen.failed.get(what) ?? 0) + 1);
  const isOver = () => seen.answers >= requestsMin && seen.changed >= changes;

  async function ask(name: string, first: number): Promise<void> {
    const client = createLoadClient(port);
    for (let at = first; !isOver(); at++) {
      const { name: kind, text, status } = requests[at % requests.length]!;
      const title = `${name}-${at}`;
      const isInsert = typeof text === 'function';
      if (isInsert) seen.unacknowledged.add(title);
      try {
        const answer = await client.send(isInsert ? text(title) : text);
        if (answer.status === status) seen.answers++;
        else fail(`${kind}: ${answer.status} ${answer.body.slice(0, 200)}`);
        if (isInsert && answer.status === status) {
          seen.unacknowledged.delete(title);
          seen.acknowledged.add(title);
        }
      } catch (error) {
        fail(`${kind}: ${error instanceof Error ? error.message : error}`);
      }
    }
    client.close();
  }

  async function changeAll(): Promise<void> {
    while (seen.changed < changes) {
      const due = ((seen.changed + 0.5) / changes) * requestsMin;
      await until('the next change is due', async () => seen.answers >= due, 600_000);
      await change(seen.changed);
      seen.changed++;
    }
  }

  const startedAt = performance.now();
  await Promise.all([
    changeAll(),
    ...Array.from({ length: clients }, (_, at) => ask(`client ${at}`, at * 7)),
  ]);
  const seconds = (performance.now() - startedAt) / 1_000;
  const failed = [...seen.failed.values()].reduce((sum, count) => sum + count, 0);
  return {
    ...seen,
    toString: () =>
      `${seen.answers} answers in ${seconds.toFixed(1)} s, ${failed} failed, ${seen.acknowledged.size} rows inserted, ${changes} changes`,
  };
}

const untilTwo = (server: RunningServer) =>
  until(
    'two workers are ready',
    async () => (await readMetrics(server)).match(/^process_start_time_seconds\{/gm)?.length === 2,
    60_000,
  );

/** The port of the server is nginx's, so that helpers of other tests use it. */
async function startBehindNginx(keeps: boolean): Promise<RunningServer> {
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
  endWith(
    server,
    await startPlainNginx(server, { upstreams: [`127.0.0.1:${own}`], folder: temporaryFolder(), keeps }),
  );
  await untilTwo(server);
  return server;
}

/** Files of a site, reads of a row, calls of the API and inserts, in this order of frequency. */
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
  const insert = {
    name: 'insert',
    status: 201,
    text(title: string) {
      const body = JSON.stringify({ title });
      return rawRequest('POST', written.path, { ...headers, 'content-type': 'application/json', body });
    },
  };
  const files = (count: number) => Array<typeof file>(count).fill(file);
  return {
    requests: [row, ...files(5), row, ...files(4), call, row, ...files(4), insert, row, file],
    async storedTitles(): Promise<string[]> {
      const { status, text } = await written.send('GET', '', undefined, { accept: 'application/x-ndjson' });
      expect(status).toBe(200);
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).title]));
    },
  };
}
