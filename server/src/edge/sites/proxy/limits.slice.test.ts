import { afterEach, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { connectClient } from '../../../http/raw-http/testing.ts';
import { createDeadlines } from './deadlines.ts';
import { createRecentChanges } from './instance-health.ts';
import { createSlots } from './pick-address.ts';
import { appHost, startApp, startProxy, until } from './testing.ts';

const events = () => {
  const start = (controller: ReadableStreamDefaultController) =>
    controller.enqueue(new TextEncoder().encode('data: 1\n\n'));
  return new Response(new ReadableStream({ start }), { headers: { 'content-type': 'text/event-stream' } });
};
const ask = `GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`;

test('requests of an app are limited, and a stream counts until its end', async () => {
  await using app = startApp((_, path) => (path === '/' ? events() : new Response('short')));
  await using proxy = startProxy({ addresses: [app.address], limits: { concurrentPerAppMax: 2 } });
  const streams = await Promise.all([connectClient(proxy.port), connectClient(proxy.port)]);
  for (const stream of streams) {
    stream.send(ask);
    await stream.until('data: 1');
  }
  const refused = await proxy.fetch('/short');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  const page = await proxy.fetch('/short', { headers: { accept: 'text/html' } });
  expect([page.status, page.headers.get('retry-after')]).toEqual([503, '1']);
  streams[0]?.socket.destroy();
  await until(async () => (await proxy.fetch('/short')).status === 200);
  // Completed requests release their slots.
  for (let turn = 0; turn < 5; turn++) expect((await proxy.fetch('/short')).status).toBe(200);
  streams[1]?.socket.destroy();
});

test('a WebSocket counts until it is closed', async () => {
  await using app = startApp(() => new Response('short'));
  await using proxy = startProxy({ addresses: [app.address], limits: { concurrentPerAppMax: 1 } });
  const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/socket`, {
    headers: { host: appHost },
  } as never);
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  expect((await proxy.fetch('/')).status).toBe(503);
  socket.close();
  await until(async () => (await proxy.fetch('/')).status === 200);
});

test('an app that never responds does not affect the limit of other apps', async () => {
  const slots = createSlots({ concurrentMax: 4, concurrentPerAppMax: 3 });
  const taken = [1, 2, 3].map(() => slots.acquire('silent'));
  expect(taken.every((slot) => slot !== null)).toBe(true);
  expect(slots.acquire('silent')).toBeNull();
  const other = slots.acquire('other');
  expect(other).not.toBeNull();
  expect(slots.acquire('third')).toBeNull();
  const leave = taken[0]?.pin();
  taken[0]?.release();
  expect(slots.acquire('third')).toBeNull();
  leave?.();
  leave?.();
  expect(slots.acquire('third')).not.toBeNull();
  expect(slots.acquire('third')).toBeNull();
});

test('an open stream is authorized again after relevant changes only', async () => {
  await using app = startApp(events);
  const judged = { one: 0, other: 0 };
  await using proxy = startProxy({
    addresses: [app.address],
    async authenticateVisitor(_site, _app, { path }) {
      const userId = path === '/one' ? 'one' : 'other';
      judged[userId]++;
      return { person: null, userId };
    },
  });
  const streams = await Promise.all([connectClient(proxy.port), connectClient(proxy.port)]);
  for (const [at, path] of ['/one', '/other'].entries()) {
    streams[at]?.send(ask.replace('/', path));
    await streams[at]?.until('data: 1');
  }
  expect(judged).toEqual({ one: 1, other: 1 });
  for (const tag of ['logs:x', 'work:deployments', 'app:another', 'user:another', 'table:x'])
    proxy.announceChange(tag);
  // One timer checks both in order.
  proxy.announceChange('user:other');
  await until(() => judged.other === 2);
  expect(judged).toEqual({ one: 1, other: 2 });
  for (const tag of ['user:one', 'credential:x', undefined, null, 'domains']) {
    const before = judged.one;
    proxy.announceChange(tag);
    await until(() => judged.one === before + 1);
  }
  for (const stream of streams) stream.socket.destroy();
});

test('changes are recorded by tag, and too many tags count as a change of everything', () => {
  let notify = (_: string | null) => {};
  const changes = createRecentChanges({
    onChange: (listener) => {
      notify = listener;
    },
  });
  const first = changes.now();
  notify('logs:a');
  expect([changes.now(), changes.since(first, ['logs:a'])]).toEqual([first, false]);
  notify('app:a');
  expect([changes.since(first, ['app:a']), changes.since(first, ['app:b'])]).toEqual([true, false]);
  const second = changes.now();
  expect(changes.since(second, ['app:a'])).toBe(false);
  for (let each = 0; each < 10_001; each++) notify(`user:${each}`);
  expect(changes.since(second, ['app:b'])).toBe(true);
  expect(changes.since(changes.now(), ['app:b', 'user:10000'])).toBe(false);
});

test('a deadline check does not start again before it has ended', async () => {
  const deadlines = createDeadlines({ everyMs: 5 });
  const answer = Promise.withResolvers<boolean>();
  let asked = 0;
  let isOver = false;
  deadlines.add({
    ms: Number.POSITIVE_INFINITY,
    look: () => {
      asked++;
      return answer.promise;
    },
    over: () => {
      isOver = true;
    },
  });
  let ticks = 0;
  deadlines.add({
    ms: Number.POSITIVE_INFINITY,
    look: () => ++ticks < 0,
    over: () => {},
  });
  await until(() => ticks >= 5);
  expect(asked).toBe(1);
  answer.resolve(true);
  await until(() => isOver);
  deadlines.stop();
});

test.each([
  ['breaks off', 502, 'app_unreachable'],
  ['falls silent', 504, 'app_timeout'],
])('a short body that %s is counted once with the status that was sent', async (how, status, code) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf');
      if (how === 'breaks off') socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  await using proxy = startProxy({ addresses: [`127.0.0.1:${port}`], limits: { idleMs: 100 } });
  const answer = await proxy.fetch('/');
  expect(await answer.json()).toMatchObject({ status, code });
  expect(proxy.counts.map((each) => each.status)).toEqual([status]);
  expect(proxy.answered).toEqual([status]);
  server.close();
});

const proxyNames = ['HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'no_proxy'];
const before = proxyNames.map((name) => [name, process.env[name]] as const);
afterEach(() => {
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
});

test('requests to apps ignore HTTP_PROXY', async () => {
  const heard: string[] = [];
  await using outside = Bun.serve({
    port: 0,
    fetch(request) {
      heard.push(request.headers.get('x-svc-user') ?? '');
      return new Response('proxy');
    },
  });
  await using app = startApp((request) => new Response(request.headers.get('x-svc-user')));
  const person = { userId: 'u1', email: 'a@b.test', name: 'A', relation: 'member' } as const;
  await using proxy = startProxy({ addresses: [app.address], person });
  const at = `http://127.0.0.1:${outside.port}`;
  for (const name of proxyNames) delete process.env[name];
  Object.assign(process.env, { HTTP_PROXY: at, http_proxy: at });
  const straight = { proxy: false } as RequestInit;
  expect(await (await proxy.fetch('/', straight)).text()).toBe('token-of-u1');
  const posted = await proxy.fetch('/', { ...straight, method: 'POST', body: 'x' });
  expect(await posted.text()).toBe('token-of-u1');
  const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/socket`, {
    headers: { host: appHost },
    proxy: false,
  } as never);
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  socket.close();
  expect(heard).toEqual([]);
});

test('a refused visitor never reaches the app, and an open stream ends with the permission', async () => {
  let may = true;
  let asked = 0;
  await using app = startApp(() => {
    asked++;
    const start = (controller: ReadableStreamDefaultController) =>
      controller.enqueue(new TextEncoder().encode('data: 1\n\n'));
    return new Response(new ReadableStream({ start }), { headers: { 'content-type': 'text/event-stream' } });
  });
  await using proxy = startProxy({
    addresses: [app.address],
    authenticateVisitor: async () =>
      may
        ? { person: null, userId: null }
        : { refused: { status: 401, headers: { 'content-length': '0' }, body: null } },
  });
  const client = await connectClient(proxy.port);
  client.send(`GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`);
  await client.until('data: 1');
  may = false;
  expect((await proxy.fetch('/')).status).toBe(401);
  expect(asked).toBe(1);
  proxy.announceChange();
  await client.closed();
});
