import { beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  connectionTo,
  keepAliveConnection,
  startWithWorkers,
  untilReplaced,
  workersOf,
} from './suites/workers.ts';
import { admin, svcFor } from './support/commands.ts';
import { bearer } from './support/people.ts';
import { type RowsWorld, rowsWorld } from './support/rows.ts';
import { type RunningServer, readMetrics, temporaryFolder } from './support/server.ts';
import { keepAsking, until } from './support/until.ts';

describe('two workers', () => {
  let server: RunningServer;
  let world: RowsWorld;
  const envFile = join(temporaryFolder(), 'svc.env');
  beforeAll(async () => {
    writeFileSync(envFile, 'SVC_LOG_LEVEL=warn\n');
    server = await startWithWorkers(2, { env: { SVC_ENV_FILE: envFile } });
    await until(
      'both are ready',
      async () => (await readMetrics(server)).includes('\nsvc_workers 2\n'),
      60_000,
    );
    world = await rowsWorld(server);
  });

  test('answer as one: a row that was written through one is read through the other at once', async () => {
    const { path } = await world.table(['title:text']);
    const [one, two] = workersOf(server);
    const connections = [await connectionTo(server, one!), await connectionTo(server, two!)] as const;
    const headers = { ...bearer(world.owner), 'content-type': 'application/json' };
    for (let at = 0; at < 20; at++) {
      const [writer, reader] = at % 2 === 0 ? connections : [connections[1], connections[0]];
      const body = JSON.stringify({ title: `row ${at}` });
      const written = await writer.ask(path, { method: 'POST', body, headers });
      expect(written.status).toBe(201);
      const { id } = JSON.parse(written.text);
      expect(await reader.ask(`${path}/${id}`, { headers })).toEqual({ status: 200, text: written.text });
      expect(JSON.parse((await reader.ask(`${path}/_count`, { headers })).text)).toEqual({ count: at + 1 });
    }
    for (const connection of connections) connection.close();
  });

  test('have one answer for metrics: sums, and the memory of each', async () => {
    const [one, two] = workersOf(server);
    const counted = (text: string) =>
      Number(
        /^svc_http_requests_total\{route="\/healthz",method="GET",status="200"\} (\d+)$/m.exec(text)?.[1],
      );
    const before = counted(await readMetrics(server)) || 0;
    for (const worker of [one!, two!]) {
      const connection = await connectionTo(server, worker);
      for (let at = 0; at < 4; at++) await connection.ask('/healthz');
      connection.close();
    }
    const text = await readMetrics(server);
    expect(counted(text)).toBe(before + 10);
    const lines = text.split('\n');
    expect(
      lines
        .filter((line) => line.startsWith('process_resident_memory_bytes'))
        .map((line) => line.split(' ')[0]),
    ).toEqual(['process_resident_memory_bytes{worker="1"}', 'process_resident_memory_bytes{worker="2"}']);
    const heads = lines.filter((line) => line.startsWith('# TYPE'));
    expect(new Set(heads).size).toBe(heads.length);
  });

  test('are the server processes that doctor counts', async () => {
    const { checks } = await admin<{ checks: { name: string; status: string; detail: string }[] }>(server, [
      'doctor',
    ]);
    expect(checks.find(({ name }) => name === 'workers')).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^2 server processes use the database/),
    });
  });

  test('are replaced on SIGHUP, with new settings, without an error for a client that keeps its connection', async () => {
    const before = workersOf(server);
    const numbersIn = (text: string) =>
      new Set([...text.matchAll(/"level":"info".*?"worker":(\d)/g)].map(([, number]) => number));
    expect(numbersIn(server.output())).toEqual(new Set());
    const requests = async () =>
      Number(
        /^svc_rows_requests_total\{method="GET",status="200"\} (\d+)$/m.exec(await readMetrics(server))?.[1],
      );
    const { path, insert } = await world.table(['title:text']);
    const [{ id }] = await insert({ title: 'kept' });
    const counted = await requests();
    const connection = keepAliveConnection(server);
    const seen = new Map<string, number>();
    const asking = keepAsking(
      async () => {
        const result = await connection.ask(`${path}/${id}`, { headers: bearer(world.owner) }).then(
          ({ status }) => String(status),
          (error: Error) => error.message,
        );
        seen.set(result, (seen.get(result) ?? 0) + 1);
      },
      { pauseMs: 5 },
    );
    writeFileSync(envFile, 'SVC_LOG_LEVEL=info\n');
    server.signal('SIGHUP');
    const now = await untilReplaced(server, before);
    await asking.stop();
    connection.close();
    expect([...seen.keys()]).toEqual(['200']);
    expect(now).toHaveLength(2);
    for (const pid of now) {
      const each = await connectionTo(server, pid);
      await each.ask(world.tables, { headers: bearer(world.owner) });
      each.close();
    }
    await until('both have logged the request', async () => numbersIn(server.output()).size === 2);
    expect(numbersIn(server.output())).toEqual(new Set(['1', '2']));
    // Counts of workers that have ended stay.
    expect(await requests()).toBeGreaterThanOrEqual(counted + (seen.get('200') ?? 0));
    expect(server.output().match(/^svc is ready on/gm)).toHaveLength(1);
    // Either of them knows the secret of local login.
    const svc = svcFor(server);
    for (let tries = 0; tries < 3; tries++) expect((await svc(['login', '--local'])).code).toBe(0);
  });

  test('one that is killed is replaced, and the other goes on', async () => {
    const [killed, other] = workersOf(server);
    const connection = await connectionTo(server, other!);
    const statuses = new Set<number>();
    const asking = keepAsking(async () => statuses.add((await connection.ask('/readyz')).status));
    process.kill(killed!, 'SIGKILL');
    await until(
      'another worker is ready',
      async () => {
        const now = workersOf(server);
        const isReplaced = now.length === 2 && !now.includes(killed!) && now.includes(other!);
        return (
          isReplaced && (await readMetrics(server)).match(/^process_start_time_seconds\{/gm)?.length === 2
        );
      },
      60_000,
    );
    await asking.stop();
    connection.close();
    expect([...statuses]).toEqual([200]);
  });
});
