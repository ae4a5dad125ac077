import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { forwardTo, listenOnSocket } from './provider-socket.ts';

const answer = (text: string) => (_: unknown, res: { end(text: string): void }) => res.end(text);
const ask = async (path: string) => (await fetch('http://x/', { unix: path })).text();

test('a stale socket is replaced, one in use is kept, and a long path is moved to a temporary folder', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-socket-'));
  mkdirSync(join(dataDir, 'run'));
  writeFileSync(join(dataDir, 'run', 'oauth.sock'), 'left behind');
  const first = await listenOnSocket(dataDir, answer('first'));
  expect(readdirSync(join(dataDir, 'run'))).toEqual([basename(first.path)]);
  expect(dirname(first.path)).toBe(join(dataDir, 'run'));
  expect(statSync(first.path).mode & 0o077).toBe(0);

  const second = await listenOnSocket(dataDir, answer('second'));
  const deep = await listenOnSocket(join(dataDir, 'x'.repeat(100)), answer('deep'));
  expect(await ask(first.path)).toBe('first');
  expect(await ask(second.path)).toBe('second');
  expect(await ask(deep.path)).toBe('deep');
  for (const { path } of [second, deep]) {
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(100);
    expect(statSync(dirname(path)).mode & 0o077).toBe(0);
  }
  for (const socket of [first, second, deep]) {
    await socket.close();
    expect(existsSync(socket.path)).toBe(false);
  }
  rmSync(dataDir, { recursive: true });
});

test('an idle connection that the provider closes does not fail a request', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'svc-forward-')), 'oauth.sock');
  // As in the race with the idle timeout: the connection is still open when the second request is sent on it.
  const server = createServer((socket) => {
    let requests = 0;
    socket.on('data', () => {
      if (++requests > 1) return socket.destroy();
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nok');
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const forward = forwardTo(path, 'http://svc.example.test');
  const url = new URL('http://svc.example.test/oauth/token/revocation');
  const info = { requestId: 'test', clientAddress: '127.0.0.1' } as Parameters<typeof forward>[2];
  const statuses: number[] = [];
  for (let round = 0; round < 3; round++) {
    const response = await forward(new Request(url, { method: 'POST', body: 'token=x' }), url, info);
    statuses.push(response.status);
    await response.text();
  }
  server.close();
  rmSync(dirname(path), { recursive: true });
  expect(statuses).toEqual([200, 200, 200]);
});
