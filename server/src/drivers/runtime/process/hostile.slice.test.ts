import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../../../../../scripts/patience.ts';
import { type Bench, openBench, type SampleApp } from '../testing.ts';
import { readProcessTable, readUid } from './process-trees.ts';
import { type ProcessWorld, processWorld } from './testing.ts';

const isRoot = process.getuid?.() === 0;
let world: ProcessWorld;
let bench: Bench;
beforeAll(async () => {
  world = processWorld({ controlGroups: 'none', times: { restartMsMin: 100 } });
  bench = openBench(world, await world.open());
});
afterAll(async () => {
  await bench.runtime.close();
  await world.close();
});

function started(startCommand: string): SampleApp {
  const app = bench.app('web');
  app.sample.plan.startCommand = startCommand;
  return app;
}
const words = () => `6${Math.floor(Math.random() * 1e8)}`;
const sleepersOf = (text: string) =>
  Bun.spawnSync(['pgrep', '-x', '-f', `sleep ${text}`])
    .stdout.toString()
    .split('\n')
    .filter(Boolean);

describe.if(isRoot)('as root, an app', () => {
  test('that replaces files by links cannot make root follow them', async () => {
    const canary = join(world.dataDir, 'canary');
    writeFileSync(canary, 'secret', { mode: 0o600 });
    const swap = `while :; do touch f; chmod 777 f; ln -sf ${canary} g; mv g f; rm -f f; done`;
    const app = bench.app('web');
    const uids = new Set<number | null>();
    app.sample.plan.buildCommand = `for d in . ~; do cd $d; for i in 1 2 3; do mkdir -p $i; (cd $i; env -i setsid sh -c '${swap}' >/dev/null 2>&1 &); done; done; id -u`;
    for (let round = 0; round < 3; round++) {
      await app.build();
      uids.add(Number(app.lines('stdout').at(-1)));
    }
    expect(statSync(canary).mode & 0o777).toBe(0o600);
    expect(uids.size).toBe(1);
    expect(readProcessTable().filter(({ pid }) => uids.has(readUid(pid)))).toEqual([]);
  });

  test('cannot hide a process from its instance', async () => {
    const text = words();
    const app = started(`env -i setsid sleep ${text} & node app.js`);
    const instance = await app.run();
    const beside = await app.start(await app.build());
    await bench.until(() => sleepersOf(text).length === 2);
    await instance.stop(500);
    // What hides from one instance is not taken for another's.
    expect(sleepersOf(text)).toHaveLength(1);
    expect(await bench.answer(beside.address, '/env')).toContain('PORT=');
    await beside.stop(500);
    expect(sleepersOf(text)).toEqual([]);
  });

  test('that forks without end is limited and can be killed', async () => {
    const text = words();
    const app = started(`i=0; while [ $i -lt 700 ]; do sleep ${text} & i=$((i+1)); done; wait`);
    const instance = await app.start(await app.build());
    await bench.until(() => app.lines('stderr').some((line) => /fork/i.test(line)));
    expect(sleepersOf(text).length).toBeLessThanOrEqual(512);
    await instance.stop(0);
    expect(sleepersOf(text)).toEqual([]);
  });

  test('cannot prevent the server from starting by leftovers of a build', async () => {
    const app = bench.app('web');
    app.sample.plan.buildCommand = 'mkfifo ~/pid $TMPDIR/pid; mkdir ~/x; mkfifo ~/x/pid';
    await app.build();
    await bench.runtime.close();
    const opened = await Promise.race([world.open(), Bun.sleep(10_000)]);
    if (!opened) throw new Error('It does not start.');
    bench.runtime = opened;
  });

  test('that listens on another address of the same port does not affect the other app', async () => {
    const instance = await bench.app('web').run();
    const port = Number(instance.address.split(':')[1]);
    const other = Bun.serve({ hostname: '127.0.0.2', port, fetch: () => new Response('not the app') });
    expect(await instance.getState()).toMatchObject({ state: 'running', restarts: 0 });
    await other.stop(true);
    await instance.stop();
  });

  test('whose port is in use after a crash gets another port', async () => {
    const app = started('node app.js; exit 1');
    app.sample.files['app.js'] =
      `require('node:http').createServer((q, r) => q.url === '/end' ? process.exit(1) : r.end('PORT=')).listen(process.env.PORT, '127.0.0.1');`;
    const instance = await app.run();
    const departures: string[] = [];
    bench.runtime.onStateChange?.((id) => departures.push(id));
    await fetch(`http://${instance.address}/end`).catch(() => {});
    await bench.until(() => departures.length > 0);
    expect((await instance.getState()).state).not.toBe('running');
    const [hostname = '', port] = instance.address.split(':');
    const thief = Bun.serve({ hostname, port: Number(port), fetch: () => new Response('not the app') });
    await bench.until(async () => (await instance.getState()).state === 'running');
    const now = (await bench.runtime.list()).find(({ instanceId }) => instanceId === instance.id);
    expect(now?.address).not.toBe(instance.address);
    expect(await bench.answer(now?.address ?? '', '/')).toBe('PORT=');
    await thief.stop(true);
    await instance.stop();
  });
});

test('an app with too much output is slowed down and does not block the server', async () => {
  const app = started('yes');
  const instance = await app.start(await app.build());
  await bench.until(() => app.lines('stdout').length > 1_000);
  // Of this process alone: what others on the machine do says nothing about it.
  const began = process.cpuUsage();
  let last = began;
  let worstMs = 0;
  const cpuMs = (from: NodeJS.CpuUsage) => {
    const { user, system } = process.cpuUsage(from);
    return (user + system) / 1_000;
  };
  for (const until = Date.now() + 2_000; Date.now() < until; ) {
    await Bun.sleep(5);
    worstMs = Math.max(worstMs, cpuMs(last));
    last = process.cpuUsage();
  }
  expect(worstMs).toBeLessThan(patientMs(100));
  // Of the two seconds: reading without a break would take all of them.
  const total = cpuMs(began);
  expect(total).toBeLessThan(1_500);
  await instance.stop(0);
  expect(app.lines('stdout').length).toBeLessThan(60_000);
});

test('a replica that resumes a lost build does not damage the new one', async () => {
  const app = bench.app('web');
  const { sourceDir } = app;
  const late = bench.app('hanging', {}, words());
  const { runtime } = bench;
  const { appId, deploymentId, number } = app;
  const same = { appId, deploymentId, number };
  bench.runtime = { ...runtime, build: (job) => runtime.build({ ...job, ...same }) };
  const building = late.build().catch((error: unknown) => error);
  await bench.until(() => late.lines().includes('hanging'));
  const built = await app.build();
  bench.runtime = runtime;
  late.abort(new Error('taken over'));
  expect(String(await building)).toContain('taken over');
  expect(sourceDir).not.toBe(late.sourceDir);
  const instance = await app.start(built);
  expect(await bench.answer(instance.address, '/env')).toContain('PORT=');
  await instance.stop();
});

test('an old run folder without a process file is removed', async () => {
  const own = processWorld();
  await (await own.open()).close();
  const run = join(own.dataDir, 'runtime', 'run');
  const [old, young] = [crypto.randomUUID(), crypto.randomUUID()];
  for (const name of [old, young]) mkdirSync(join(run, name));
  const before = new Date(Date.now() - 3_600_000);
  utimesSync(join(run, old), before, before);
  const runtime = await own.open();
  expect(readdirSync(run)).toEqual([young]);
  await runtime.close();
  await own.close();
});
