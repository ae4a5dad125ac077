import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openServerDatabase } from '../support/database.ts';
import { bearer, done, newApp } from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { insertLines, newTable, type RowsWorld, rowPaths, rowsWorld, Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';

import { until } from '../support/until.ts';

export function rowsCrash({
  killsCount,
  rounds,
  readsPerRound,
}: {
  killsCount: number;
  rounds: number;
  readsPerRound: number;
}): void {
  const clientsCount = 6;
  const linesPerBatch = 1_500;
  /** A request that takes longer hangs. */
  const hangMs = 5_000;
  const rowsBefore = 300;

  const postmasterOf = (server: RunningServer) =>
    Number(readFileSync(join(server.dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);

  const isReady = (server: RunningServer) =>
    fetch(`${server.baseUrl}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );

  /** One write with a key of its own, repeated until it is acknowledged, however often the server dies. */
  interface Write {
    marker: string;
    path: string;
    lines: number;
    ids: unknown[] | null;
  }

  function send(ground: RowsWorld, { path, marker, lines }: Write): Promise<Response> {
    const row = (n: number) => JSON.stringify({ marker, n });
    return fetch(`${ground.server.baseUrl}${path}`, {
      method: 'POST',
      headers: {
        ...bearer(ground.owner),
        'content-type': lines === 1 ? 'application/json' : 'application/x-ndjson',
        'idempotency-key': marker,
      },
      body: Array.from({ length: lines }, (_, n) => row(n)).join('\n'),
    });
  }

  test('kill -9 in the middle of batches leaves no half batch, loses no acknowledged row and makes none twice', async () => {
    const random = newRandom();
    let server = await startEmbedded();
    const ground = await rowsWorld(server);
    // Several apps, so that the limit of batches per minute is not exceeded.
    const apps = await Promise.all(
      Array.from({ length: clientsCount }, () =>
        newApp(ground.tenant, { owner: ground.owner, coOwner: ground.owner }),
      ),
    );
    const paths: string[] = [];
    for (const app of apps) {
      const places = rowPaths(ground.tenant, app);
      await newTable({ ...ground, ...places }, 'kept', ['marker:text', 'n:int']);
      paths.push(`${places.data}/kept`);
    }
    const writes: Write[] = [];
    const statuses = new Tally();
    let over = false;
    let acknowledged = 0;
    const client = async (at: number) => {
      while (!over) {
        const lines = random.chance(0.2) ? 1 : linesPerBatch;
        const write: Write = { marker: `${at} ${writes.length}`, path: paths[at]!, lines, ids: null };
        writes.push(write);
        await untilAcknowledged(ground, write, statuses);
        acknowledged++;
      }
    };
    const clients = Array.from({ length: clientsCount }, (_, at) => client(at));
    let [halves, killedDatabases, underWay] = [0, 0, 0];
    for (let kill = 1; kill <= killsCount; kill++) {
      const before = acknowledged;
      const wanted = before + 2 + random.below(25);
      await until('some were acknowledged', async () => acknowledged >= wanted, 60_000);
      await moment(random);
      underWay += writes.filter(({ ids }) => ids === null).length;
      if (kill % 3 === 0) {
        process.kill(postmasterOf(server), 'SIGKILL');
        killedDatabases++;
      }
      server.signal('SIGKILL');
      await server.exited;
      server = await startEmbedded({ dataDir: server.dataDir, port: server.port });
      halves += await halfBatches(server);
    }
    over = true;
    await Promise.all(clients);
    const found = await storedBatches(server);
    const wrong = writes.filter(({ marker, lines, ids }) => {
      const stored = new Set(found.get(marker));
      return stored.size !== lines || ids?.length !== lines || ids.some((id) => !stored.has(String(id)));
    });
    const rows = writes.reduce((sum, { lines }) => sum + lines, 0);
    console.log(
      `rows crash: seed ${random.seed}; ${killsCount} kills of the server, ${killedDatabases} of them with its database, with ${underWay} writes under way; ${writes.length} writes, ${rows} rows; half batches: ${halves}, lost or doubled: ${wrong.length}; ${statuses}`,
    );
    expect({ halves, wrong, unknown: found.size - writes.length }).toEqual({
      halves: 0,
      wrong: [],
      unknown: 0,
    });
    // A stopped server gives no answer; a restarted one gives its own until it has the database.
    expect(statuses.except(201, 409, 503, 'no answer')).toEqual([]);
    await server.stop();
  });

  async function untilAcknowledged(ground: RowsWorld, write: Write, statuses: Tally): Promise<void> {
    await until(
      'the write is acknowledged',
      async () => {
        const response = await send(ground, write).catch(() => null);
        const text = await response?.text().catch(() => null);
        statuses.add(response && typeof text === 'string' ? response.status : 'no answer');
        if (response?.status !== 201 || typeof text !== 'string') {
          await until('the server is back', () => isReady(ground.server), 60_000);
          return false;
        }
        const body = JSON.parse(text);
        write.ids = write.lines === 1 ? [body.id] : body.ids;
        return true;
      },
      120_000,
    );
  }

  /** A random moment while requests are in progress. */
  const moment = (random: Random) => Bun.sleep(random.below(60));

  /** Rows of every table of an app; after the id come the declared columns: marker and n. */
  async function fromTables(server: RunningServer, select: (table: string) => string) {
    const database = openServerDatabase(server);
    const tables = await database.query(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname like 'app_%'",
    );
    const found: Record<string, unknown>[] = [];
    for (const { name } of tables) found.push(...(await database.query(select(String(name)))));
    await database.close();
    return found;
  }

  async function storedBatches(server: RunningServer): Promise<Map<string, string[]>> {
    const rows = await fromTables(
      server,
      (table) => `select c2 as marker, string_agg(c1::text, ',') as ids from ${table} group by 1`,
    );
    return new Map(rows.map(({ marker, ids }) => [String(marker), String(ids).split(',')]));
  }

  async function halfBatches(server: RunningServer): Promise<number> {
    const rows = await fromTables(
      server,
      (table) => `select c2 from ${table} group by 1 having count(*) not in (1, ${linesPerBatch})`,
    );
    return rows.length;
  }

  /** Reads and writes without end and checks each; records acknowledged writes. */
  function loadOn(ground: RowsWorld, random: Random) {
    const statuses = new Tally();
    const wrong: string[] = [];
    const acknowledged: string[] = [];
    let [over, slowest, answered, sent] = [false, 0, 0, 0];

    async function countAnswer(
      what: string,
      request: () => Promise<Response>,
      isRight: (text: string) => boolean,
    ) {
      const begun = performance.now();
      const response = await request().catch((error: unknown) => {
        if (what !== 'stream') throw error;
        // Closed before the first bytes.
        return null;
      });
      if (!response) return 0;
      const text = await response.text().catch(() => 'cut');
      slowest = Math.max(slowest, performance.now() - begun);
      answered++;
      statuses.add(response.status);
      if (response.status < 300 && text !== 'cut' && !isRight(text))
        wrong.push(`${what}: ${text.slice(0, 200)}`);
      return text === 'cut' ? 0 : response.status;
    }
    const fetched = (path: string, init: RequestInit = {}) =>
      fetch(`${ground.server.baseUrl}${ground.data}/kept${path}`, {
        ...init,
        headers: { ...bearer(ground.owner), ...(init.headers as Record<string, string>) },
      });

    const kinds: (() => Promise<void>)[] = [
      async () => {
        const n = random.below(rowsBefore);
        await countAnswer(
          `row ${n}`,
          () => fetched(`?n=${n}&select=marker,n`),
          (text) => JSON.stringify(JSON.parse(text).data) === JSON.stringify([{ marker: `before ${n}`, n }]),
        );
      },
      async () => {
        const n = random.below(rowsBefore);
        const right = `{"count":${n}}`;
        await countAnswer(
          `count ${n}`,
          () => fetched(`/_count?n=gte.0&n=lt.${n}`),
          (text) => text === right,
        );
      },
      async () => {
        const marker = `after ${++sent}`;
        const body = JSON.stringify({ marker, n: -sent });
        const headers = { 'content-type': 'application/json', 'idempotency-key': marker };
        const keyed: Record<string, string> = random.chance(0.5)
          ? headers
          : { 'content-type': 'application/json' };
        const status = await countAnswer(
          marker,
          () => fetched('', { method: 'POST', body, headers: keyed }),
          (text) => JSON.parse(text).marker === marker,
        );
        if (status === 201) acknowledged.push(marker);
      },
      async () => {
        await countAnswer(
          'stream',
          () => fetched('?n=gte.0&sort=n&select=n', { headers: { accept: 'application/x-ndjson' } }),
          (text) => text === Array.from({ length: rowsBefore }, (_, n) => `{"n":${n}}\n`).join(''),
        );
      },
    ];
    const clients = Array.from({ length: 12 }, async (_, at) => {
      while (!over) await (at === 0 ? kinds[3]! : random.pick(kinds.slice(0, 3)))();
    });
    return {
      statuses,
      wrong,
      slowest: () => slowest,
      answered: () => answered,
      /** Resolves with the acknowledged writes that are not stored exactly once. */
      async end(): Promise<string[]> {
        over = true;
        await Promise.all(clients);
        const response = await fetched('?n=lt.0&select=marker', {
          headers: { accept: 'application/x-ndjson' },
        });
        const stored = (await response.text())
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).marker);
        return acknowledged.filter((marker) => stored.filter((each) => each === marker).length !== 1);
      },
    };
  }

  async function newKept(server: RunningServer): Promise<RowsWorld> {
    const ground = await rowsWorld(server);
    await newTable(ground, 'kept', ['marker:text', 'n:int']);
    await insertLines(
      ground.owner,
      `${ground.data}/kept`,
      Array.from({ length: rowsBefore }, (_, n) => ({ marker: `before ${n}`, n })),
    );
    return ground;
  }

  /** One server for the tests that it survives; each test has its own tenant. */
  let surviving: Promise<RunningServer> | undefined;
  function survivor(): Promise<RunningServer> {
    surviving ??= startEmbedded();
    return surviving;
  }

  test('when every connection of rows is terminated again and again, no answer is wrong and none is lost', async () => {
    const random = newRandom();
    const server = await survivor();
    const ground = await newKept(server);
    const database = openServerDatabase(server);
    const load = loadOn(ground, random);
    let terminated = 0;
    for (let round = 0; round < rounds; round++) {
      const wanted = load.answered() + 40;
      await until('clients are served', async () => load.answered() >= wanted);
      const [row] = await database.query(
        `select count(pg_terminate_backend(pid))::int as count from pg_stat_activity
       where application_name = 'svc rows'`,
      );
      terminated += Number(row!.count);
    }
    const wanted = load.statuses.count(201) + 20;
    await until('rows are written again', async () => load.statuses.count(201) >= wanted);
    const lost = await load.end();
    console.log(
      `rows crash: ${terminated} connections terminated in ${rounds} rounds; slowest answer ${Math.round(load.slowest())} ms; wrong: ${load.wrong.length}, lost: ${lost.length}; ${load.statuses}`,
    );
    expect({ wrong: load.wrong, lost }).toEqual({ wrong: [], lost: [] });
    expect(load.statuses.except(200, 201, 409, 503, 504)).toEqual([]);
    expect(load.slowest()).toBeLessThan(hangMs);
    expect(terminated).toBeGreaterThan(rounds);
    await database.close();
  });

  test.each([
    ['killed', 'SIGKILL'],
    ['restarted', 'SIGINT'],
  ] as const)(
    'when PostgreSQL is %s under load, rows are served again within 10 s of its return',
    async (_, signal) => {
      const random = newRandom();
      const server = await survivor();
      const ground = await newKept(server);
      const load = loadOn(ground, random);
      for (let round = 0; round < readsPerRound; round++) {
        const wanted = load.answered() + 200;
        await until('clients are served', async () => load.answered() >= wanted);
        const postmaster = postmasterOf(server);
        process.kill(postmaster, signal);
        await until('another PostgreSQL is there', async () => hasOther(server, postmaster), 30_000);
        await until('the server is ready', () => isReady(server), 10_000);
        const served = load.statuses.count(201) + 20;
        await until('rows are written again', async () => load.statuses.count(201) >= served);
      }
      const lost = await load.end();
      console.log(
        `rows crash: PostgreSQL ${signal}; slowest answer ${Math.round(load.slowest())} ms; wrong: ${load.wrong.length}, lost: ${lost.length}; ${load.statuses}`,
      );
      expect({ wrong: load.wrong, lost }).toEqual({ wrong: [], lost: [] });
      expect(load.statuses.except(200, 201, 409, 503, 504)).toEqual([]);
      expect(load.slowest()).toBeLessThan(hangMs);
      expect((await done(ground.owner.call('GET', `${ground.data}/kept/_count?n=gte.0`))).count).toBe(
        rowsBefore,
      );
    },
    120_000,
  );

  function hasOther(server: RunningServer, postmaster: number): boolean {
    try {
      return postmasterOf(server) !== postmaster;
    } catch {
      return false;
    }
  }
}
