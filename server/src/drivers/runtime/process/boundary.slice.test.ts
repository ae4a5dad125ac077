import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Bench, openBench } from '../testing.ts';
import { type ProcessWorld, processWorld } from './testing.ts';

let world: ProcessWorld;
let bench: Bench;
const above = () => join(dirname(world.dataDir), 'package.json');
beforeAll(async () => {
  world = processWorld();
  const hostile = { name: 'above', type: 'module', scripts: { build: 'echo from above' } };
  writeFileSync(above(), JSON.stringify(hostile), { mode: 0o644 });
  bench = openBench(world, await world.open());
});
afterAll(async () => {
  await bench.runtime.close();
  await world.close();
});

test('an app without a package.json does not use one above the data dir', async () => {
  const app = bench.app('web');
  app.sample.files['build.js'] = `console.log(typeof require('node:fs').readFileSync);`;
  app.sample.plan.installCommand = 'npm prefix';
  app.sample.plan.buildCommand = 'node build.js; npm run build || echo no such script';
  const built = await app.build();
  // npm hides the id of the build in what it says.
  const tree = join(world.dataDir, 'runtime', 'artifacts', '***');
  expect(app.lines('stdout')).toEqual([tree, 'function', 'no such script']);
  const instance = await app.start(built);
  expect(await bench.answer(instance.address, '/env')).toContain('PORT=');
  await instance.stop();
});

test('an app built before the boundary existed gets it on the next start', async () => {
  const app = bench.app('web');
  const built = await app.build();
  await bench.runtime.close();
  const boundary = join(world.dataDir, 'runtime', 'package.json');
  rmSync(boundary);
  bench.runtime = await world.open();
  expect(statSync(boundary).mode & 0o777).toBe(0o644);
  const instance = await app.start(built);
  expect(await bench.answer(instance.address, '/env')).toContain('PORT=');
  await instance.stop();
});

test('a static site is published without the boundary file', async () => {
  const site = bench.app('site');
  site.sample.plan.buildCommand = `echo "console.log(typeof require)" > t.js; node t.js; rm t.js`;
  site.sample.plan.outputDir = '.';
  const { filesDir } = await site.build();
  expect(site.lines('stdout')).toEqual(['function']);
  expect([...new Bun.Glob('**').scanSync({ cwd: filesDir ?? '' })]).toEqual(['readme.txt']);
});
