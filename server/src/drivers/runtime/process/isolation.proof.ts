import { expect, test } from 'bun:test';
import { isolationConformance } from '../isolation-testing.ts';
import { openBench } from '../testing.ts';
import { processWorld } from './testing.ts';

isolationConformance('apps as processes', async () => processWorld());

test('an app reaches its services of the platform, several at one port too', async () => {
  const world = processWorld();
  const bench = openBench(world, await world.open());
  const platform = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => new Response(new URL(url).pathname),
  });
  const app = bench.app('web');
  app.services = ['/storage', '/keys'].map((path) =>
    new URL(path, platform.url).href.replace('localhost', '127.0.0.1'),
  );
  app.sample.files['app.js'] = `(async () => {
    for (const url of ${JSON.stringify(app.services)}) console.log(await (await fetch(url)).text());
  })(); setInterval(() => {}, 1000);`;
  const instance = await app.start(await app.build());
  await bench.until(() => app.lines('stdout').includes('/keys'));
  expect(app.lines('stdout')).toEqual(['/storage', '/keys']);
  await instance.stop();
  await platform.stop(true);
  await bench.runtime.close();
  await world.close();
});

test('before the disk is full, the app that holds most of it is stopped', async () => {
  const world = processWorld({ diskReserveMb: 1024 ** 3 });
  const bench = openBench(world, await world.open());
  const small = bench.app('web');
  const running = await small.run();
  const large = bench.app('web');
  large.sample.plan.startCommand = 'dd if=/dev/zero of=/tmp/big bs=1M count=20; sleep 100';
  const instance = await large.start(await large.build());
  await bench.until(() => large.lines('platform').some((line) => line.includes('disk of the machine')));
  expect(await bench.answer(running.address, '/env')).toContain('PORT=');
  expect(small.lines('platform')).toEqual([]);
  for (const each of [instance, running]) await each.stop(0);
  await bench.runtime.close();
  await world.close();
});
