import { afterAll, beforeAll, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeLock, waitForLock } from './lock-file.ts';
import { runBun, type TemporaryFolder, temporaryFolder } from './testing.ts';

let folder: TemporaryFolder;
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => folder.remove());

test('a held lock names its holder, and a released one can be taken again', () => {
  const path = join(folder.path, 'held');
  const lock = takeLock(path);
  expect(takeLock(path)).toEqual({ heldBy: process.pid });
  if ('release' in lock) lock.release();
  expect(existsSync(path)).toBeFalse();
  expect(takeLock(path)).toHaveProperty('release');
});

test('a lock that another has taken over since is not released by its former holder', () => {
  const path = join(folder.path, 'taken-over');
  const lock = takeLock(path);
  writeFileSync(path, 'another');
  if ('release' in lock) lock.release();
  expect(readFileSync(path, 'utf8')).toBe('another');
});

test('a lock that is damaged, or whose process is gone, is taken over', () => {
  const gone = spawnSync('true').pid;
  for (const [name, text] of [
    ['empty', ''],
    ['damaged', '{"pid":'],
    ['gone', JSON.stringify({ pid: gone, started: '' })],
    ['reused', JSON.stringify({ pid: process.pid, started: 'long ago' })],
  ] as const) {
    const path = join(folder.path, name);
    writeFileSync(path, text);
    expect([name, takeLock(path)]).toEqual([name, { release: expect.any(Function) }]);
  }
});

test('a take-over that was cut off does not keep the next one from it', () => {
  const path = join(folder.path, 'cut-off');
  const stale = JSON.stringify({ pid: process.pid, started: 'long ago' });
  const hash = createHash('sha256').update(stale).digest('hex').slice(0, 16);
  writeFileSync(path, stale);
  writeFileSync(`${path}.${hash}`, stale);
  expect(takeLock(path)).toHaveProperty('release');
  expect(readdirSync(folder.path).filter((name) => name.startsWith('cut-off'))).toEqual(['cut-off']);
});

test('waiting ends when the lock is free, and with an error when it is not in time', async () => {
  const path = join(folder.path, 'waited-for');
  const lock = takeLock(path);
  const told: number[] = [];
  const options = { waitMsMax: 100, onWait: (heldBy: number) => told.push(heldBy) };
  expect(waitForLock(path, options)).rejects.toHaveProperty('code', 'busy');
  await Bun.sleep(300);
  expect(told).toEqual([process.pid]);
  const waiting = waitForLock(path, { ...options, waitMsMax: 5_000 });
  if ('release' in lock) lock.release();
  await waiting;
});

test('of many processes that find the same stale lock exactly one gets it', async () => {
  const rounds = 200;
  const processes = 6;
  const paths = Array.from({ length: rounds }, (_, round) => join(folder.path, `contended-${round}`));
  for (const path of paths) writeFileSync(path, JSON.stringify({ pid: 1, started: 'long ago' }));
  const program = `
    import { takeLock } from './lock-file.ts';
    console.log('ready');
    for await (const _ of Bun.stdin.stream()) {
      const won = ${JSON.stringify(paths)}.filter((path) => 'release' in takeLock(path));
      console.log(JSON.stringify(won));
    }`;
  const runs = Array.from({ length: processes }, () => runBun(program));
  try {
    for (const run of runs) await run.line();
    for (const run of runs) run.tell('go');
    const won = await Promise.all(runs.map(async (run): Promise<string[]> => JSON.parse(await run.line())));
    expect(won.flat().sort()).toEqual([...paths].sort());
    expect(won.filter((paths) => paths.length > 0).length).toBeGreaterThan(1);
    expect(readdirSync(folder.path).filter((name) => /^contended-\d+\./.test(name))).toEqual([]);
  } finally {
    for (const run of runs) run.child.kill('SIGKILL');
  }
}, 20_000);
