import { afterAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../drivers/testing.ts';
import { listenRaw, type RawListener } from './raw-http/raw-listener.ts';
import { textResponse } from './raw-http/testing.ts';
import { openSocketCalls } from './socket-calls.ts';

const calls = openSocketCalls();
const opened: RawListener[] = [];
afterAll(() => Promise.all(opened.map((listener) => listener.stop(0))));

function answerOn(descriptor: number, text: string, socket: string | null = null): RawListener {
  const listener = listenRaw({
    host: '127.0.0.1',
    port: 0,
    socket,
    descriptor,
    edge: () => ({ serves: () => true, answer: () => textResponse(text) }),
    trustedProxies: { includes: () => false },
    passThroughClients: null,
    log: silentLog,
  });
  opened.push(listener);
  return listener;
}

/** The body, or the code of the error. */
function ask(at: { host: string; port: number } | { path: string }): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(at as { path: string }, () =>
      socket.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'),
    );
    socket.on('data', (bytes) => {
      received += bytes;
    });
    socket.on('end', () => {
      socket.destroy();
      resolve(received.slice(received.indexOf('\r\n\r\n') + 4));
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

test.if(calls !== null).each([
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['::', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
])('a socket on %s refuses connections until somebody listens', async (host, client) => {
  const { fd, port } = calls!.bind({ host, port: 0 })!;
  expect(port).toBeGreaterThan(0);
  expect(await ask({ host: client, port })).toBe('ECONNREFUSED');
  answerOn(fd, 'hello');
  expect(await ask({ host: client, port })).toBe('hello');
});

test.if(calls !== null)('a socket can have a path', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-socket-'));
  const path = join(folder, 'a.sock');
  const { fd } = calls!.bind({ path })!;
  answerOn(fd, 'hello', path);
  expect(await ask({ path })).toBe('hello');
  expect(calls!.bind({ path })).toBeNull();
  rmSync(folder, { recursive: true });
});

test.if(calls !== null)('of two listeners on one socket, one that stops loses no connection', async () => {
  const { fd, port } = calls!.bind({ host: '127.0.0.1', port: 0 })!;
  const at = { host: '127.0.0.1', port };
  const old = calls!.duplicate(fd);
  const first = answerOn(old, 'old');
  expect(await ask(at)).toBe('old');
  answerOn(fd, 'new');
  expect(calls!.stopAccepting(old)).toBe(true);
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask(at)));
  expect([...new Set(answers)]).toEqual(['new']);
  await first.stop(0);
  expect(await ask(at)).toBe('new');
});

test.if(calls !== null)('a socket that ignores new connections serves those that it has', async () => {
  const { fd, port } = calls!.bind({ host: '127.0.0.1', port: 0 })!;
  answerOn(fd, 'hello');
  const at = { host: '127.0.0.1', port };
  const open = connect(at);
  await once(open, 'connect');
  expect(calls!.ignoreNewConnections(fd)).toBe(true);
  const late = connect(at);
  open.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  const [bytes] = await once(open, 'data');
  expect(String(bytes)).toEndWith('hello');
  // The kernel sends it again only after a second.
  expect(late.connecting).toBe(true);
  for (const socket of [open, late]) socket.destroy();
});
