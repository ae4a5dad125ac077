import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Bench, openBench } from '../testing.ts';
import { type ProcessWorld, processWorld } from './testing.ts';

let world: ProcessWorld;
let bench: Bench;
beforeAll(async () => {
  // As for an ordinary user without a group of its own.
  world = processWorld({ controlGroups: 'none' });
  bench = openBench(world, await world.open());
});
afterAll(async () => {
  await bench.runtime.close();
  await world.close();
});

const spinning = 'for n in 1 2 3 4 5 6; do while :; do :; done & done; echo busy; wait';
/** Each process ends before anybody looks at it. */
const forking =
  'for n in 1 2 3 4; do while :; do sh -c "n=0; while [ \\$n -lt 3000 ]; do n=\\$((n+1)); done"; done & done; echo busy; wait';
/** Less than an app gets on a busy machine. */
const cores = 0.05;
const measuredMs = 8_000;
/** An app that is not paused uses some of the CPU in this time. */
const pausedMsMin = 400;

test.each([
  ['is busy in many processes', spinning],
  ['is busy in processes that end at once', forking],
])(
  'without control groups, an app that %s gets its share of the CPU, and a neighbour answers',
  async (_, command) => {
    const neighbour = await bench.app('web').run();
    const app = bench.app('web');
    app.limits.cpu = cores;
    app.sample.plan.startCommand = command;
    const instance = await app.start(await app.build());
    await bench.until(() => app.lines('stdout').includes('busy'));
    const cpuMs = async () => (await instance.usage())?.cpuMs ?? 0;
    // Until it is looked at for the first time, within a second, it may use all cores.
    const seen = { cpuMs: 0, at: performance.now() };
    await bench.until(async () => {
      const now = await cpuMs();
      if (now !== seen.cpuMs) Object.assign(seen, { cpuMs: now, at: performance.now() });
      return now > 300 && performance.now() - seen.at > pausedMsMin;
    });
    const [before, startedAt] = [await cpuMs(), performance.now()];
    for (const until = startedAt + measuredMs; performance.now() < until; await Bun.sleep(200))
      expect(await bench.answer(neighbour.address, '/env')).toContain('PORT=');
    const share = ((await cpuMs()) - before) / (performance.now() - startedAt);
    expect(share).toBeGreaterThan(0.01);
    expect(share).toBeLessThan(cores * 1.6);
    expect((await instance.getState()).state).toBe('running');
    await instance.stop();
    await neighbour.stop();
  },
);

test('an app that is paused ends within its grace period, by SIGTERM', async () => {
  const app = bench.app('web');
  app.limits.cpu = 0.25;
  app.sample.files['app.js'] = `${app.sample.files['app.js']}
    setInterval(() => { for (const until = Date.now() + 900; Date.now() < until; ); }, 1);`;
  const instance = await app.start(await app.build());
  await bench.until(async () => ((await instance.usage())?.cpuMs ?? 0) > 1_500);
  await instance.stop(20_000);
  expect(app.lines('stdout')).toContain('bye');
  expect(await instance.getState()).toEqual({ state: 'gone' });
});
