import { expect, test } from 'bun:test';
import type { Bench, SampleInstance } from './testing.ts';

/** An app that takes too much ends or waits, and `running`, which is another one, goes on. */
export function limitTests(
  get: () => { bench: Bench; running: SampleInstance },
  { cores = 0.05 } = {},
): void {
  test('a fork bomb ends with its instance, and neighbours go on', async () => {
    const { bench, running } = get();
    const app = bench.app('web');
    app.sample.plan.startCommand = 'f() { f | f & }; f; while :; do sleep 1; done';
    const instance = await app.start(await app.build());
    await bench.until(() => app.lines().some((line) => /fork|resource/i.test(line)));
    expect(await bench.answer(running.address, '/env')).toContain('PORT=');
    await instance.stop(0);
    expect(await instance.getState()).toEqual({ state: 'gone' });
    expect(await bench.answer(running.address, '/env')).toContain('PORT=');
  });

  test('an app that is busy in many processes gets its share of the CPU, and neighbours go on', async () => {
    const { bench, running } = get();
    const app = bench.app('web');
    app.limits.cpu = cores;
    app.sample.plan.startCommand = 'for n in 1 2 3 4 5 6; do while :; do :; done & done; echo busy; wait';
    const instance = await app.start(await app.build());
    await bench.until(() => app.lines('stdout').includes('busy'));
    const cpuMs = async () => (await instance.usage())?.cpuMs ?? 0;
    // A start may use more.
    const began = await cpuMs();
    await bench.until(async () => (await cpuMs()) > began + 300);
    const [before, startedAt] = [await cpuMs(), performance.now()];
    for (const until = startedAt + 8_000; performance.now() < until; await Bun.sleep(200))
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
    const share = ((await cpuMs()) - before) / (performance.now() - startedAt);
    expect(share).toBeGreaterThan(0.01);
    expect(share).toBeLessThan(cores * 1.6);
    expect((await instance.getState()).state).toBe('running');
    await instance.stop(0);
    expect(await instance.getState()).toEqual({ state: 'gone' });
  });

  test('an app that takes more memory than its limit is ended, its log says so, and neighbours go on', async () => {
    const { bench, running } = get();
    const app = bench.app('hungry');
    const instance = await app.start(await app.build());
    let answers = 0;
    await bench.until(async () => {
      expect(await bench.answer(running.address, '/env')).toContain('PORT=');
      answers++;
      return app.lines('platform').some((line) => line.includes('out of memory'));
    });
    expect(answers).toBeGreaterThan(0);
    expect((await running.getState()).state).toBe('running');
    await instance.stop(0);
    expect(await bench.answer(running.address, '/env')).toContain('PORT=');
  });
}
