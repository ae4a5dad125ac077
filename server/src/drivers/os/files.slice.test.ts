import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useTemporaryFolder } from '../database/hooks-testing.ts';
import { runBun } from '../database/testing.ts';
import { tryLock, waitForLock } from './files.ts';

const folder = useTemporaryFolder();

test('a held lock names its holder, and a released one can be taken again', () => {
  const path = join(folder.path, 'held');
  const lock = tryLock(path);
  expect(tryLock(path)).toEqual({ heldBy: process.pid });
  if ('release' in lock) lock.release();
  expect(existsSync(path)).toBeFalse();
  expect(tryLock(path)).toHaveProperty('release');
});

test('a former holder does not release a lock that another process has taken over', () => {
  const path = join(folder.path, 'taken-over');
  const lock = tryLock(path);
  writeFileSync(path, 'another');
  if ('release' in lock) lock.release();
  expect(readFileSync(path, 'utf8')).toBe('another');
});

test('a damaged lock and the lock of a dead process are taken over', () => {
  const gone = spawnSync('true').pid;
  for (const [name, text] of [
    ['empty', ''],
    ['damaged', '{"pid":'],
    ['gone', JSON.stringify({ pid: gone, started: '' })],
    ['reused', JSON.stringify({ pid: process.pid, started: 'long ago' })],
  ] as const) {
    const path = join(folder.path, name);
    writeFileSync(path, text);
    expect([name, tryLock(path)]).toEqual([name, { release: expect.any(Function) }]);
  }
});

test('an interrupted takeover does not block the next one', () => {
  const path = join(folder.path, 'cut-off');
  const stale = JSON.stringify({ pid: process.pid, started: 'long ago' });
  const hash = createHash('sha256').update(stale).digest('hex').slice(0, 16);
  writeFileSync(path, stale);
  writeFileSync(`${path}.${hash}`, stale);
  expect(tryLock(path)).toHaveProperty('release');
  expect(readdirSync(folder.path).filter((name) => name.startsWith('cut-off'))).toEqual(['cut-off']);
});

test('waiting returns the lock when it is free, or its holder when the time is over', async () => {
  const path = join(folder.path, 'waited-for');
  const lock = tryLock(path);
  const holders: number[] = [];
  const options = { waitMsMax: 100, onWait: (heldBy: number) => holders.push(heldBy) };
  expect(await waitForLock(path, options)).toEqual({ heldBy: process.pid });
  expect(holders).toEqual([process.pid]);
  const waiting = waitForLock(path, { ...options, waitMsMax: 5_000 });
  if ('release' in lock) lock.release();
  await waiting;
});

test('exactly one of many processes gets the same stale lock', async () => {
  const rounds = 200;
  const processes = 6;
  const paths = Array.from({ length: rounds }, (_, round) => join(folder.path, `contended-${round}`));
  for (const path of paths) writeFileSync(path, JSON.stringify({ pid: 1, started: 'long ago' }));
  const program = `
    import { createInterface } from 'node:readline';
    import { tryLock } from '../os/files.ts';
    console.log('ready');
    for await (const path of createInterface({ input: process.stdin }))
      console.log('release' in tryLock(path) ? path : '');`;
  const runs = Array.from({ length: processes }, () => runBun(program));
  try {
    for (const run of runs) await run.line();
    const won = runs.map((): string[] => []);
    for (const [round, path] of paths.entries()) {
      // On a busy machine the first process that is asked usually wins.
      for (let at = 0; at < processes; at++) runs[(round + at) % processes]?.send(path);
      const answers = await Promise.all(runs.map((run) => run.line()));
      for (const [at, answer] of answers.entries()) if (answer === path) won[at]?.push(path);
    }
    expect(won.flat().sort()).toEqual([...paths].sort());
    expect(won.filter((paths) => paths.length > 0).length).toBeGreaterThan(1);
    expect(readdirSync(folder.path).filter((name) => /^contended-\d+\./.test(name))).toEqual([]);
  } finally {
    for (const run of runs) run.child.kill('SIGKILL');
  }
});
