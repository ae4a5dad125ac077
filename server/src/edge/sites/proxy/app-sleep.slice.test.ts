import { describe, expect, test } from 'bun:test';
import { connectClient } from '../../../http/raw-http/testing.ts';
import { appHost, startApp, startProxy, until } from './testing.ts';

/** Lookups find the app only after `start`. */
function sleepingProxy(address: string, options: Partial<Parameters<typeof startProxy>[0]> = {}) {
  const woken: string[] = [];
  const proxy = startProxy({
    addresses: [],
    wakeMs: 5_000,
    ...options,
    sleep: { wake: async (appId) => void woken.push(appId), ...options.sleep },
  });
  return { proxy, woken, start: () => proxy.moveTo([address]) };
}

describe('an app that sleeps', () => {
  test('answers all its first requests, with their bodies, once it has started', async () => {
    await using app = startApp(async (request) => new Response(`${request.method} ${await request.text()}`));
    const { proxy, woken, start } = sleepingProxy(app.address);
    await using _ = proxy;
    const asking = Promise.all([
      ...Array.from({ length: 20 }, () => proxy.fetch('/')),
      ...Array.from({ length: 20 }, () => proxy.fetch('/', { method: 'POST', body: 'hello' })),
    ]);
    await until(() => woken.length > 0);
    start();
    const texts = await Promise.all((await asking).map((answer) => answer.text()));
    expect(new Set(texts)).toEqual(new Set(['GET ', 'POST hello']));
    expect(new Set(woken).size).toBe(1);
  });

  test('opens a WebSocket once it has started', async () => {
    await using app = startApp(() => new Response());
    const { proxy, woken, start } = sleepingProxy(app.address);
    await using _ = proxy;
    const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/socket`, {
      headers: { host: appHost },
    } as never);
    const echoed = new Promise((resolve, reject) => {
      socket.onopen = () => socket.send('hello');
      socket.onmessage = ({ data }) => resolve(data);
      socket.onerror = () => reject(new Error('The socket failed.'));
    });
    await until(() => woken.length > 0);
    start();
    expect(await echoed).toBe('hello');
    socket.close();
  });

  test('waits for what a reviewer opens, without waking the live app', async () => {
    await using app = startApp(() => new Response('reviewed'));
    let visits = 0;
    const { proxy, woken, start } = sleepingProxy(app.address, {
      hostKind: 'staging',
      onVisit: () => {
        visits += 1;
      },
    });
    await using _ = proxy;
    const asking = proxy.fetch('/');
    await until(() => visits > 0);
    start();
    expect(await (await asking).text()).toBe('reviewed');
    expect(woken).toEqual([]);
  });

  test('is reported as starting if it does not start in time', async () => {
    const { proxy } = sleepingProxy('', { wakeMs: 50 });
    await using _ = proxy;
    expect(await (await proxy.fetch('/')).json()).toMatchObject({ code: 'app_starting' });
  });

  test('is active while a request or an event stream is open', async () => {
    const body = () => new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array([58, 10])) });
    await using app = startApp(
      () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } }),
    );
    const recorded: (readonly string[])[] = [];
    const sleep = { recordActivity: async (ids: readonly string[]) => void recorded.push(ids) };
    await using proxy = startProxy({ addresses: [app.address], wakeMs: 5_000, sleep });
    const stream = await connectClient(proxy.port);
    stream.send(`GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`);
    await stream.until(':\n');
    await until(() => recorded.length >= 3);
    stream.socket.destroy();
    expect(new Set(recorded.flat()).size).toBe(1);
  });
});

describe('several instances', () => {
  test('get requests by how busy they are', async () => {
    const release = Promise.withResolvers<void>();
    const slow = async (name: string, path: string) => {
      if (path === '/slow') await release.promise;
      return new Response(name);
    };
    await using one = startApp((_, path) => slow('one', path));
    await using two = startApp((_, path) => slow('two', path));
    await using proxy = startProxy({ addresses: [one.address, two.address] });
    const held = proxy.fetch('/slow');
    await until(() => proxy.inFlight.count(one.address) + proxy.inFlight.count(two.address) === 1);
    const busy = proxy.inFlight.count(one.address) === 1 ? 'one' : 'two';
    for (let at = 0; at < 6; at++) expect(await (await proxy.fetch('/')).text()).not.toBe(busy);
    release.resolve();
    expect(await (await held).text()).toBe(busy);
  });

  test('answer for one that died after its last request', async () => {
    const apps = ['one', 'two', 'three'].map((name) => startApp(() => new Response(name)));
    await using proxy = startProxy({ addresses: apps.map(({ address }) => address) });
    for (let at = 0; at < 6; at++) expect((await proxy.fetch('/')).status).toBe(200);
    for (const app of apps.slice(0, 2)) await app.server.stop(true);
    for (let at = 0; at < 6; at++) {
      expect(await (await proxy.fetch('/')).text()).toBe('three');
      expect((await proxy.fetch('/', { method: 'POST', body: 'x' })).status).toBe(200);
    }
    await apps[2]?.server.stop(true);
  });
});
