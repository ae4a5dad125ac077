import { expect, test } from 'bun:test';
import { placeholderCertificate } from '../../../drivers/certificates/https-server.ts';
import { openHttpsListener } from '../../../http/https-listener.ts';
import { createPassThroughClients } from '../../../http/raw-http/pass-through.ts';
import { listenRaw } from '../../../http/raw-http/raw-listener.ts';
import { silentLog } from '../../../testing.ts';
import { appHost, startApp, startProxy } from './testing.ts';

type Message = string | Buffer;

/** A client that records its messages. */
async function dial(port: number, path = '/socket', protocols: string[] = [], headers = {}) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, {
    headers: { host: appHost, ...headers },
    ...(protocols.length > 0 ? { protocols } : {}),
  } as never);
  socket.binaryType = 'nodebuffer' as never;
  const heard: Message[] = [];
  const waiting: (() => void)[] = [];
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  socket.onmessage = ({ data }) => {
    heard.push(data as Message);
    for (const wake of waiting.splice(0)) wake();
  };
  socket.onclose = ({ code, reason }) => closed.resolve({ code, reason });
  const opened = await new Promise<string>((resolve) => {
    socket.onopen = () => resolve('open');
    socket.onerror = (event) => resolve('message' in event ? String(event.message) : 'error');
  });
  return {
    socket,
    heard,
    opened,
    closed: closed.promise,
    async until(count: number): Promise<Message[]> {
      while (heard.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
      return heard;
    },
  };
}

test("text and bytes are passed both ways, with the protocol of the app and the visitor's token", async () => {
  let headers: Record<string, string> = {};
  await using app = startApp(() => new Response(), { protocol: 'two' });
  await using echo = startApp((request) => {
    headers = Object.fromEntries(request.headers);
    return new Response('no socket', { status: 404 });
  });
  await using proxy = startProxy({ addresses: [app.address] });
  const client = await dial(proxy.port, '/socket?a=1', ['one', 'two']);
  expect([client.opened, client.socket.protocol]).toEqual(['open', 'two']);
  client.socket.send('text');
  client.socket.send(new Uint8Array([0, 1, 255]));
  client.socket.send('');
  expect(await client.until(3)).toEqual(['text', Buffer.from([0, 1, 255]), '']);
  client.socket.close();
  await using identified = startProxy({
    addresses: [echo.address],
    person: { userId: 'u1', email: 'e', name: 'n', relation: 'none' },
  });
  const forged = { 'x-svc-user': 'forged', cookie: '__Host-svc_site=secret; a=1' };
  expect((await dial(identified.port, '/other', [], forged)).opened).toContain('404');
  expect(headers).toMatchObject({
    host: appHost,
    upgrade: 'websocket',
    'x-svc-user': 'token-of-u1',
    cookie: 'a=1',
    'x-forwarded-for': '127.0.0.1',
  });
});

test('1,000 messages arrive in order, and a large one complete', async () => {
  await using app = startApp(() => new Response());
  await using proxy = startProxy({ addresses: [app.address] });
  const client = await dial(proxy.port);
  const sent = Array.from({ length: 1_000 }, (_, at) => `message ${at}`);
  for (const text of sent) client.socket.send(text);
  expect(await client.until(1_000)).toEqual(sent);
  const large = Buffer.alloc(4 * 1024 * 1024, 7);
  client.socket.send(large);
  expect(large.equals((await client.until(1_001))[1_000] as Buffer)).toBe(true);
  client.socket.close();
});

test.each([
  [4001, 'mine'],
  [1000, 'done'],
  [1001, ''],
  [1011, 'trouble'],
])('a close with %p by the client is passed to the app', async (code, reason) => {
  const closed = Promise.withResolvers<unknown[]>();
  await using app = startApp(() => new Response(), { close: (_socket, ...how) => closed.resolve(how) });
  await using proxy = startProxy({ addresses: [app.address] });
  const client = await dial(proxy.port);
  expect(proxy.inFlight.count(app.address)).toBe(1);
  client.socket.close(code, reason);
  expect(await closed.promise).toEqual([code, reason]);
  expect(proxy.inFlight.count(app.address)).toBe(0);
});

test.each([
  [4321, 'because'],
  [1000, ''],
  [1012, 'again soon'],
])('a close with %p by the app is passed to the client', async (code, reason) => {
  await using app = startApp(() => new Response(), { open: (socket) => socket.close(code, reason) });
  await using proxy = startProxy({ addresses: [app.address] });
  expect(await (await dial(proxy.port)).closed).toEqual({ code, reason });
});

test('a lost connection on one side closes the other side', async () => {
  const closed = Promise.withResolvers<number>();
  await using app = startApp(() => new Response(), { close: (_socket, code) => closed.resolve(code) });
  await using proxy = startProxy({ addresses: [app.address] });
  const client = await dial(proxy.port);
  (client.socket as unknown as { terminate(): void }).terminate();
  expect(await closed.promise).toBe(1006);
  const other = await dial(proxy.port);
  await app.server.stop(true);
  expect([1001, 1006]).toContain((await other.closed).code);
});

test('a ping of the client reaches the app', async () => {
  const pinged = Promise.withResolvers<string>();
  await using app = startApp(() => new Response(), {
    ping: (_socket, data) => pinged.resolve(data.toString()),
  });
  await using proxy = startProxy({ addresses: [app.address] });
  const client = await dial(proxy.port);
  (client.socket as unknown as { ping(data: string): void }).ping('are you there');
  expect(await pinged.promise).toBe('are you there');
  client.socket.close();
});

test('messages that the app sends at once are not lost', async () => {
  await using app = startApp(() => new Response(), {
    open(socket) {
      for (let at = 0; at < 100; at++) socket.send(`${at}`);
    },
  });
  await using proxy = startProxy({ addresses: [app.address] });
  const client = await dial(proxy.port);
  expect(await client.until(100)).toEqual(Array.from({ length: 100 }, (_, at) => `${at}`));
  client.socket.close();
});

test('the client gets a response if the app is down, refuses or does not respond', async () => {
  await using app = startApp(() => new Response('no', { status: 403 }));
  await using mute = startApp(() => new Promise<Response>(() => {}));
  const opened = async (addresses: string[]) => {
    await using proxy = startProxy({ addresses, limits: { firstByteMs: 100 } });
    return /\d{3}$/.exec((await dial(proxy.port, '/no')).opened)?.[0];
  };
  expect(await opened([])).toBe('503');
  expect(await opened(['127.0.0.1:1'])).toBe('502');
  expect(await opened([app.address])).toBe('403');
  expect(await opened([mute.address])).toBe('504');
});

test('a socket needs permission, and ends with it, after silence and with the server', async () => {
  let may = true;
  await using app = startApp(() => new Response());
  const refused = { refused: { status: 401, headers: { 'content-length': '0' }, body: null } };
  const authenticateVisitor = async () => (may ? { person: null, userId: null } : refused);
  await using proxy = startProxy({ addresses: [app.address], authenticateVisitor });
  const client = await dial(proxy.port);
  may = false;
  expect((await dial(proxy.port)).opened).toContain('401');
  proxy.announceChange();
  expect((await client.closed).code).toBe(1001);
  await using brief = startProxy({ addresses: [app.address], limits: { longIdleMs: 100 } });
  expect((await (await dial(brief.port)).closed).code).toBe(1001);
  const last = startProxy({ addresses: [app.address] });
  const open = await dial(last.port);
  await last.serving.stop(2_000);
  expect([1001, 1006]).toContain((await open.closed).code);
});

test('the raw listener passes requests and sockets of apps on', async () => {
  await using app = startApp(async (request) => new Response(`${request.method} ${await request.text()}`));
  await using proxy = startProxy({ addresses: [app.address] });
  const passedOn = createPassThroughClients(proxy.port);
  const raw = listenRaw({
    host: '127.0.0.1',
    port: 0,
    edge: () => proxy.edge,
    trustedProxies: { includes: () => false },
    passThroughClients: passedOn,
    log: silentLog,
  });
  const at = `http://127.0.0.1:${raw.port}/`;
  const headers = { host: appHost };
  expect(await (await fetch(at, { headers })).text()).toBe('GET ');
  expect(await (await fetch(at, { headers, method: 'POST', body: 'hello' })).text()).toBe('POST hello');
  const client = await dial(raw.port);
  client.socket.send('over');
  expect(await client.until(1)).toEqual(['over']);
  client.socket.close();
  await raw.stop(0);
});

test('the TLS listener passes requests and sockets of apps on', async () => {
  await using app = startApp(() => new Response());
  await using proxy = startProxy({ addresses: [app.address] });
  const https = openHttpsListener({
    host: '127.0.0.1',
    port: 0,
    edge: () => proxy.edge,
    trustedProxies: { includes: () => false },
    passThroughClients: createPassThroughClients(proxy.port),
    log: silentLog,
    defaultCertificate: placeholderCertificate(),
    isServed: () => true,
  });
  https.accept();
  const socket = new WebSocket(`wss://127.0.0.1:${https.port}/socket`, {
    headers: { host: appHost },
    tls: { rejectUnauthorized: false },
  } as never);
  const heard = await new Promise((resolve) => {
    socket.onopen = () => socket.send('sealed');
    socket.onmessage = ({ data }) => resolve(data);
    socket.onerror = () => resolve('an error');
  });
  expect(heard).toBe('sealed');
  socket.close();
  await https.stop(0);
});
