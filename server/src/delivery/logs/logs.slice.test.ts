import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { buildLogLinesMax, retainedAppLogLines } from '@svc/contract/deployments.ts';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { newApp } from '../../apps/record/testing.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import {
  loginHeaders,
  peopleRoutes,
  type ServerCopy,
  startServerCopy,
  testOrigin,
} from '../../identity/provider/testing.ts';
import { newTenant, newUser, silentLog, type TestDatabase, testDatabase } from '../../testing.ts';
import { logRoutes } from '../deployments/deployment-logs.ts';
import { createLogWaits, deleteExpiredLogs, type LogWaits } from './log-lines.ts';
import { createLogSink, type LogSinks } from './log-sink.ts';

let database: TestDatabase;
let server: ServerCopy;
let changes: ReturnType<typeof listenForChanges>;
let waits: LogWaits;
let sinks: LogSinks;

beforeAll(async () => {
  database = await testDatabase();
  changes = listenForChanges({ url: database.url, log: silentLog });
  await changes.start();
  waits = createLogWaits(changes);
  const places = { baseUrl: testOrigin, appsDomain: 'apps.example.test' };
  server = await startServerCopy(database, undefined, [
    ...peopleRoutes,
    ...logRoutes({ ...places, waits, now: () => new Date() }),
  ]);
  sinks = createLogSink({ db: database.db, log: silentLog });
});
afterAll(async () => {
  await changes.stop();
  await server.stop();
  await database.close();
});

async function world() {
  const { db } = database;
  const { tenant, member, admin } = await newTenant(db);
  const owner = await newUser(db, tenant.id);
  const app = await newApp(db, tenant, owner, { visibility: 'public' });
  let seq = 0;
  const deployment = async (state = 'building') => {
    const id = Bun.randomUUIDv7();
    await sql`insert into svc.deployments
      (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at)
      values (${id}, ${tenant.id}, ${app.id}, ${++seq}, 'deploy', 'person', ${state}, 'docker', 'upload', now())`.execute(
      db,
    );
    return id;
  };
  const end = (id: string, state: string) =>
    sql`update svc.deployments set state = ${state}, ended_at = now() where id = ${id}`.execute(db);
  const login = await loginHeaders(database, owner);
  const base = `/api/v1/tenants/${tenant.slug}/apps/${app.id}`;
  const read = (path: string, as = login) => server.call(as, 'GET', `${base}${path}`);
  const texts = async (path: string) =>
    (await read(path)).body.items.map(({ text }: { text: string }) => text);
  const write = async (
    id: string,
    source: 'build' | 'app',
    lines: readonly string[],
    secrets: string[] = [],
  ) => {
    const log = sinks.open({ appId: app.id, deploymentId: id, source, secrets });
    for (const line of lines) log.sink('stdout', line);
    await log.close();
  };
  return { tenant, app, owner, member, admin, deployment, end, read, texts, write };
}

const noLimit = { lines: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);

describe('the log of a build', () => {
  test('is read in pages, in the order it was written', async () => {
    const { deployment, end, read, write } = await world();
    const id = await deployment();
    const lines = numbered(450);
    await write(id, 'build', lines);
    await end(id, 'failed');
    const got: string[] = [];
    let [cursor, ended] = ['', false];
    while (!ended) {
      const { status, body } = await read(`/deployments/${id}/logs?limit=100&wait_seconds=5${cursor}`);
      expect(status).toBe(200);
      got.push(...body.items.map(({ text }: { text: string }) => text));
      ended = body.ended;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(got).toEqual(lines);
    const again = await read(`/deployments/${id}/logs?${cursor.slice(1)}`);
    expect([again.body.items, again.body.ended]).toEqual([[], true]);
  });

  test('can start with its last lines and continue after them', async () => {
    const { deployment, read, write } = await world();
    const id = await deployment();
    await write(id, 'build', numbered(30));
    const { body } = await read(`/deployments/${id}/logs?tail=2`);
    expect(body.items.map(({ text }: { text: string }) => text)).toEqual(['line 29', 'line 30']);
    await write(id, 'build', ['after']);
    const next = await read(`/deployments/${id}/logs?cursor=${body.next_cursor}`);
    expect(next.body.items.map(({ text }: { text: string }) => text)).toEqual(['after']);
  });

  test('can be awaited until the next line', async () => {
    const { deployment, read, write } = await world();
    const id = await deployment();
    const first = await read(`/deployments/${id}/logs`);
    expect([first.body.items, first.body.ended]).toEqual([[], false]);
    const begun = performance.now();
    const waiting = read(`/deployments/${id}/logs?wait_seconds=20&cursor=${first.body.next_cursor}`);
    await write(id, 'build', ['at last']);
    expect((await waiting).body.items.map(({ text }: { text: string }) => text)).toEqual(['at last']);
    expect(performance.now() - begun).toBeLessThan(patientMs(5_000));
  });

  test('ends for waiting readers when the deployment has ended', async () => {
    const { deployment, end, read } = await world();
    const id = await deployment();
    const waiting = read(`/deployments/${id}/logs?wait_seconds=20`);
    await end(id, 'canceled');
    expect((await waiting).body).toMatchObject({ items: [], ended: true });
  });

  test('is not sent to a reader who lost ownership during the wait', async () => {
    const { app, member, deployment, read, write } = await world();
    const id = await deployment();
    const waiting = read(`/deployments/${id}/logs?wait_seconds=20`);
    await sql`update svc.apps set owner_id = ${member.userId} where id = ${app.id}`.execute(database.db);
    await write(id, 'build', ['not for them']);
    expect((await waiting).status).toBe(403);
  });

  test('rejects a cursor of another log, and is invisible to others', async () => {
    const [one, other] = [await world(), await world()];
    const [id, second] = [await one.deployment('failed'), await one.deployment()];
    await one.write(id, 'build', ['x']);
    const { next_cursor } = (await one.read(`/deployments/${id}/logs`)).body;
    for (const cursor of [next_cursor, 'x', '', 'AAAA'])
      expect((await one.read(`/deployments/${second}/logs?cursor=${cursor}`)).body.code).toBe(
        'invalid_cursor',
      );
    expect((await one.read(`/logs?cursor=${next_cursor}`)).body.code).toBe('invalid_cursor');
    expect((await other.read(`/deployments/${id}/logs`)).status).toBe(404);
    expect((await other.read(`/logs?deployment=${id}`)).status).toBe(404);
    expect((await one.read(`/deployments/${id}/logs`, await loginHeaders(database, one.member))).status).toBe(
      403,
    );
    expect((await one.read(`/deployments/${id}/logs`, await loginHeaders(database, one.admin))).status).toBe(
      403,
    );
  });

  test('ends with a notice at its limit, even if the build restarts', async () => {
    const { deployment, write, app } = await world();
    const id = await deployment();
    await sql`insert into svc.log_lines (app_id, deployment_id, source, stream, at, text)
      select ${app.id}, ${id}, 'build', 'stdout', now(), 'x' from generate_series(1, ${buildLogLinesMax - 5})`.execute(
      database.db,
    );
    await write(id, 'build', numbered(3));
    await write(id, 'build', numbered(300));
    await write(id, 'build', numbered(300));
    const { rows } = await sql<{ text: string; stream: string }>`
      select text, stream from svc.log_lines where deployment_id = ${id} order by id offset ${buildLogLinesMax - 5}`.execute(
      database.db,
    );
    expect(rows.map(({ text }) => text)).toEqual([
      'line 1',
      'line 2',
      'line 3',
      'line 1',
      expect.stringContaining('ends here'),
    ]);
    expect(rows.at(-1)?.stream).toBe('platform');
  });

  test('of a run holds the program back while lines wait to be stored, and counts those beyond its limit', async () => {
    const { app } = await world();
    const id = Bun.randomUUIDv7();
    const limits = {
      app: noLimit,
      build: noLimit,
      run: { lines: 5_000, bytes: Number.POSITIVE_INFINITY },
    };
    const small = createLogSink({ db: database.db, log: silentLog, limits });
    const { sink, missing, close } = small.open({ appId: app.id, deploymentId: id, source: 'run' });
    let waits = 0;
    for (const line of numbered(6_000)) {
      for (let wait = sink.ready?.(); wait; wait = sink.ready?.()) {
        waits += 1;
        await wait;
      }
      sink('stdout', line);
    }
    await close();
    expect([waits > 0, missing()]).toEqual([true, 1_001]);
    const { rows } = await sql<{ text: string }>`
      select text from svc.log_lines where deployment_id = ${id} order by id`.execute(database.db);
    expect(rows.map(({ text }) => text)).toEqual([
      ...numbered(4_999),
      expect.stringContaining('limit of 5000 lines'),
    ]);
  });

  test('contains no secret', async () => {
    const { deployment, texts, write } = await world();
    const id = await deployment();
    await write(id, 'build', ['token is abcdef-123456', 'no\u0000thing'], ['abcdef-123456']);
    expect(await texts(`/deployments/${id}/logs`)).toEqual(['token is ***', 'nothing']);
  });
});

describe('the log of an app', () => {
  test('covers all deployments, or one', async () => {
    const { deployment, texts, write } = await world();
    const [one, other] = [await deployment('superseded'), await deployment('live')];
    await write(one, 'app', ['old']);
    await write(other, 'app', ['new']);
    await write(other, 'build', ['built']);
    expect(await texts('/logs')).toEqual(['old', 'new']);
    expect(await texts(`/logs?deployment=${other}`)).toEqual(['new']);
    expect(await texts('/logs?tail=1')).toEqual(['new']);
  });

  test('contains all lines of concurrent writers', async () => {
    const { deployment, read, write } = await world();
    const [one, other] = [await deployment('superseded'), await deployment('live')];
    const writing = Promise.all([one, other].map((id) => write(id, 'app', numbered(1_000))));
    let [cursor, got, isWritten] = ['', 0, false];
    void writing.then(() => {
      isWritten = true;
    });
    for (;;) {
      const wasWritten = isWritten;
      const { body } = await read(`/logs?limit=1000${cursor}`);
      got += body.items.length;
      cursor = `&cursor=${body.next_cursor}`;
      if (wasWritten && body.items.length === 0) break;
    }
    expect(got).toBe(2_000);
  });

  test('of a purged app causes no error', async () => {
    const { app, deployment } = await world();
    const log = sinks.open({ appId: app.id, deploymentId: await deployment(), source: 'app' });
    await sql`delete from svc.apps where id = ${app.id}`.execute(database.db);
    log.sink('stdout', 'too late');
    await log.close();
    log.sink('stdout', 'much too late');
  });

  test('marks where lines are missing that came too fast', async () => {
    const { deployment, read, write } = await world();
    const id = await deployment('live');
    await write(id, 'app', numbered(8_000));
    const { body } = await read('/logs?tail=1000');
    const gap = body.items.find(({ stream }: { stream: string }) => stream === 'platform');
    expect(gap?.text).toMatch(/^3000 lines are missing/);
  });

  test('retains the newest lines and the logs of the newest builds', async () => {
    const { app, deployment, texts } = await world();
    const ids: string[] = [];
    for (let at = 0; at < 52; at++) ids.push(await deployment('superseded'));
    await sql`insert into svc.log_lines (app_id, deployment_id, source, stream, at, text)
      select ${app.id}, id, 'build', 'stdout', now(), 'b' from svc.deployments where app_id = ${app.id}`.execute(
      database.db,
    );
    await sql`insert into svc.log_lines (app_id, deployment_id, source, stream, at, text)
      select ${app.id}, ${ids[0]}, 'app', 'stdout', now(), n::text
      from generate_series(1, ${retainedAppLogLines + 6_000}) g (n) order by g.n`.execute(database.db);
    await deleteExpiredLogs({ db: database.db, log: silentLog });
    expect((await texts('/logs?limit=1'))[0]).toBe('6001');
    const left = async (id: string) => (await texts(`/deployments/${id}/logs`)).length;
    expect([await left(ids[0]!), await left(ids[1]!), await left(ids[2]!), await left(ids[51]!)]).toEqual([
      0, 0, 1, 1,
    ]);
  });
});

test('waiting readers are released when the server stops', async () => {
  const ears: ((tag: string | null) => void)[] = [];
  const own = createLogWaits({ onChange: (listener) => void ears.push(listener) });
  const waiting = own.wait('logs:x', 60_000);
  own.stop();
  await waiting;
  await own.wait('logs:x', 60_000);
  expect(own.isStopping()).toBe(true);
});

test('the last lines of npm have its reason, without its usage', async () => {
  const { app, deployment } = await world();
  const log = sinks.open({ appId: app.id, deploymentId: await deployment(), source: 'build', secrets: [] });
  const usage = Array.from({ length: 30 }, (_, at) => [
    `npm error   --option-${at}`,
    'npm error     Sets it.',
    'npm error',
  ]);
  for (const line of [
    'npm error code EUSAGE',
    'npm error Usage:',
    'npm error [--global-style]',
    ...usage.flat(),
  ])
    log.sink('stderr', line);
  expect(log.last()).toEqual(['npm error code EUSAGE']);
  await log.close();
});

test('the last lines of a program have the message above a stack, and few of its frames', async () => {
  const { app, deployment } = await world();
  const log = sinks.open({ appId: app.id, deploymentId: await deployment(), source: 'app', secrets: [] });
  const frames = Array.from({ length: 30 }, (_, at) => `    at frame${at} (x.js:1:1)`);
  for (const line of ["Error: Cannot find module 'x'", ...frames, 'Node.js v26']) log.sink('stderr', line);
  expect(log.last()).toEqual(["Error: Cannot find module 'x'", ...frames.slice(0, 3), 'Node.js v26']);
  await log.close();
});
