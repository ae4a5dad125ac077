import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { type Bench, openBench } from '../testing.ts';
import { type ProcessWorld, processWorld } from './testing.ts';

let world: ProcessWorld;
let bench: Bench;
beforeAll(async () => {
  world = processWorld({ isolation: { use: 'none', egress: 'public', gatewayPort: null } });
  bench = openBench(world, await world.open());
});
afterAll(async () => {
  await bench.runtime.close();
  await world.close();
});

const answering = `const server = require('node:http').createServer((_, answer) => answer.end('here'));`;

/** Another address of this machine, where only who listens on all of them is found. */
function isOpenElsewhere(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(address.split(':').at(-1)), '127.0.0.2', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

async function started(listen: string, startCommand = 'node app.js') {
  const app = bench.app('web');
  app.sample.files['app.js'] = `${answering} const port = process.env.PORT; ${listen}`;
  app.sample.plan.startCommand = startCommand;
  const instance = await app.start(await app.build());
  expect(await bench.answer(instance.address, '/')).toBe('here');
  return { app, instance };
}

test.each([
  ['a port', `server.listen(port);`],
  ['a port and what to do then', `server.listen(Number(port), () => console.log('up'));`],
  ['all addresses, by name', `server.listen(port, '0.0.0.0', 10, () => {});`],
  ['all addresses of the sixth version', `server.listen({ port, host: '::', exclusive: true });`],
  ['options without an address', `server.listen({ port }, () => {});`],
  ['a port and a backlog', `server.listen(port, 10);`],
  ['the address it was given', `server.listen(port, process.env.HOST);`],
])('an app that listens on %s is accessible only through the platform', async (_, listen) => {
  const { app, instance } = await started(listen);
  expect(await isOpenElsewhere(instance.address)).toBeFalse();
  expect(app.lines('platform').filter((line) => line.includes('HOST'))).toEqual([]);
  await instance.stop();
});

test('NODE_OPTIONS of the app are kept, and other sockets are not changed', async () => {
  const app = bench.app('web', { NODE_OPTIONS: '--no-deprecation' });
  app.sample.files['app.js'] =
    `require('node:net').createServer().listen(process.env.TMPDIR + '/own', () => require('node:http')
      .createServer((_, answer) => answer.end(String(process.noDeprecation))).listen(process.env.PORT));`;
  app.sample.plan.startCommand = 'node app.js';
  const instance = await app.start(await app.build());
  expect(await bench.answer(instance.address, '/')).toBe('true');
  await instance.stop();
});

test('an app that still listens publicly is warned once in its log', async () => {
  const { app, instance } = await started('server.listen(port);', 'env -u NODE_OPTIONS node app.js');
  expect(await isOpenElsewhere(instance.address)).toBeTrue();
  const told = () => app.lines('platform').filter((line) => line.includes('HOST (127.0.0.1)'));
  await bench.until(() => told().length > 0);
  await instance.usage();
  expect(told()).toHaveLength(1);
  await instance.stop();
});
