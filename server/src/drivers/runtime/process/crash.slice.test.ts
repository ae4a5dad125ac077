import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../../../../../scripts/patience.ts';
import { findProcess } from '../../os/processes.ts';
import { openBench } from '../testing.ts';
import { type ProcessWorld, processWorld } from './testing.ts';

const worlds: ProcessWorld[] = [];
afterAll(() => Promise.all(worlds.map((world) => world.close())));
const newWorld = () => {
  const world = processWorld();
  worlds.push(world);
  return world;
};

/** A server that has an app with processes of its own, and a build with more, says so and waits to be killed. */
const server = `
import { openBench } from ${JSON.stringify(join(import.meta.dir, '..', 'testing.ts'))};
import { processSample } from ${JSON.stringify(join(import.meta.dir, 'testing.ts'))};
import { createProcessRuntime } from ${JSON.stringify(join(import.meta.dir, 'process-runtime.ts'))};
import { readBaseEnvironment } from ${JSON.stringify(join(import.meta.dir, 'environment.ts'))};
import { silentLog } from ${JSON.stringify(join(import.meta.dir, '..', '..', 'testing.ts'))};
const [dataDir, text] = process.argv.slice(-2);
const open = () => createProcessRuntime({ dataDir, baseEnvironment: readBaseEnvironment(process.env), controlGroups: 'auto', isolation: { use: 'required', egress: 'public', gatewayPort: null }, log: silentLog });
const runtime = await open();
const bench = openBench({ workDir: dataDir + '/runtime/work', sample: processSample }, runtime);
const app = bench.app('web');
app.sample.plan.startCommand = 'setsid sleep ' + text + ' & (sleep ' + text + ' &) ; node app.js ' + text;
const { address } = await app.run();
const other = bench.app('web');
other.sample.files['app.js'] = "require('node:http').createServer((_, response) => response.end()).listen(3000)";
const instance = await other.start(await other.build());
let found = instance.address;
await bench.until(async () => (found = (await instance.getState()).address) !== instance.address);
const building = bench.app('hanging', {}, text);
building.build();
await bench.until(() => building.lines().includes('hanging'));
console.log(JSON.stringify({ address, found, node: runtime.node }));
setInterval(() => {}, 1000);
`;

test('processes of a killed server end, and the next server removes its remains', async () => {
  const world = newWorld();
  const text = `88${Math.floor(Math.random() * 1e6)}`;
  const script = join(world.dataDir, 'crash-server.ts');
  writeFileSync(script, server);
  const child = Bun.spawn([process.execPath, script, world.dataDir, text], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { value } = await child.stdout.getReader().read();
  const said = JSON.parse(new TextDecoder().decode(value)) as {
    address: string;
    found: string;
    node: string;
  };
  const forwarder = `${said.found.replace(':', '/')}:3000`;
  expect(runningWith(forwarder)).toHaveLength(1);
  const all = () => [...runningWith(text), ...runningWith(forwarder)];
  expect(runningWith(text).length).toBeGreaterThanOrEqual(5);
  child.kill('SIGKILL');
  await child.exited;
  // Before another server is there, which would end them.
  for (const until = Date.now() + patientMs(5_000); all().length > 0 && Date.now() < until; )
    await Bun.sleep(20);
  expect(all()).toEqual([]);
  const bench = openBench(world, await world.open());
  expect([bench.runtime.node, await bench.runtime.list()]).toEqual([said.node, []]);
  expect(await bench.isSilent(said.address)).toBe(true);
  const runtime = join(world.dataDir, 'runtime');
  // Of the apps that ran, and not of the one that was being built.
  expect(readdirSync(join(runtime, 'artifacts'))).toHaveLength(4);
  expect(readdirSync(join(runtime, 'run'))).toEqual([]);
  await bench.runtime.close();
});

test('a process with a reused process ID is not killed', async () => {
  const world = newWorld();
  const first = await world.open();
  const { node } = first;
  await first.close();
  const bystander = Bun.spawn(['sleep', '1000']);
  const folder = join(world.dataDir, 'runtime', 'run', crypto.randomUUID());
  mkdirSync(folder);
  const started = 'before this';
  writeFileSync(join(folder, 'pid'), JSON.stringify({ pid: bystander.pid, started, node, uid: null }));
  const second = await world.open();
  expect(findProcess(bystander.pid)).not.toBeNull();
  expect(readdirSync(join(world.dataDir, 'runtime', 'run'))).toEqual([]);
  bystander.kill();
  await second.close();
});

test('replicas do not touch each other’s processes', async () => {
  const world = newWorld();
  const one = openBench(world, await world.open());
  const instance = await one.app('web').run();
  const two = openBench(world, await world.open());
  expect(two.runtime.node).not.toBe(one.runtime.node);
  expect(await two.runtime.list()).toEqual([]);
  expect(await one.answer(instance.address, '/env')).toContain('PORT=');
  await two.runtime.close();
  expect(await instance.getState()).toMatchObject({ state: 'running', restarts: 0 });
  await one.runtime.close();
});

test('child processes of npm end with the instance', async () => {
  const world = newWorld();
  const bench = openBench(world, await world.open());
  const text = `99${Math.floor(Math.random() * 1e6)}`;
  const app = bench.app('web');
  app.sample.files['package.json'] = JSON.stringify({ scripts: { start: `node app.js ${text}` } });
  app.sample.plan.installCommand = 'npm install';
  app.sample.plan.startCommand = 'npm start';
  const instance = await app.run();
  expect(runningWith(text).length).toBeGreaterThanOrEqual(1);
  await instance.stop();
  expect(app.lines()).toContain('bye');
  expect(runningWith(text)).toEqual([]);
  await bench.runtime.close();
});

function runningWith(text: string): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || !findProcess(Number(name))) return [];
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return words.includes(text) && !words.includes('crash-') ? [words] : [];
    } catch {
      return [];
    }
  });
}
