import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { listenOnSocket } from './provider-socket.ts';

const answer = (text: string) => (_: unknown, res: { end(text: string): void }) => res.end(text);
const ask = async (path: string) => (await fetch('http://x/', { unix: path })).text();

test('a socket left behind is replaced, one in use is left alone, and a long path goes elsewhere', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-socket-'));
  mkdirSync(join(dataDir, 'run'));
  writeFileSync(join(dataDir, 'run', 'oauth.sock'), 'left behind');
  const first = await listenOnSocket(dataDir, answer('first'));
  expect(first.path).toBe(join(dataDir, 'run', 'oauth.sock'));
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
