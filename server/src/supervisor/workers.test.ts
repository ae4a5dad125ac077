import { expect, test } from 'bun:test';
import { createLog } from '../core/log.ts';
import type { Part } from './part.ts';
import { createWorkers } from './workers.ts';

/** A process whose start and end the test decides. */
function fakePart(pid: number) {
  const ready = Promise.withResolvers<{ port: number } | null>();
  const exited = Promise.withResolvers<{ code: number; ready: boolean }>();
  let isReady = false;
  const end = (code: number) => {
    ready.resolve(null);
    exited.resolve({ code, ready: isReady });
  };
  const ended = () => {
    end(0);
    return exited.promise.then(() => {});
  };
  const part: Part = {
    pid,
    ready: ready.promise,
    exited: exited.promise,
    send: () => {},
    readMetrics: async () => null,
    stop: ended,
    drain: ended,
    kill: () => end(137),
  };
  return {
    part,
    begin: () => {
      isReady = true;
      ready.resolve({ port: 1 });
    },
    end,
  };
}

type FakePart = ReturnType<typeof fakePart>;

function fakeWorkers(count: number, isShared = true) {
  const started: FakePart[] = [];
  const lines: string[] = [];
  const failures: number[] = [];
  let changed = Promise.withResolvers<void>();
  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  const workers = createWorkers({
    count: Promise.resolve(count),
    isShared,
    start() {
      const next = fakePart(started.length + 1);
      started.push(next);
      change();
      return next.part;
    },
    onFailed(code) {
      failures.push(code);
      change();
    },
    onExit: change,
    log: createLog({
      level: 'info',
      write(line) {
        lines.push(JSON.parse(line).msg);
        change();
      },
    }),
  });
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await changed.promise;
  };
  return {
    ...workers,
    lines,
    failures,
    pids: () => workers.list().map(({ number, part }) => [number, part.pid]),
    until,
    /** The nth process that was started. */
    async start(nth: number): Promise<FakePart> {
      await until(() => started.length >= nth);
      return started[nth - 1]!;
    },
  };
}

test('a worker that does not start ends the replacement, and the old ones go on', async () => {
  const workers = fakeWorkers(2);
  (await workers.start(1)).begin();
  (await workers.start(2)).begin();
  workers.roll();
  (await workers.start(3)).end(1);
  await workers.until(() => workers.lines.length === 2);
  expect(workers.lines).toEqual([
    'replacing the workers',
    'new worker did not start; the other workers were not replaced',
  ]);
  expect(workers.pids()).toEqual([
    [1, 1],
    [2, 2],
  ]);
  // The next replacement may succeed for the first one alone.
  workers.roll();
  (await workers.start(4)).begin();
  (await workers.start(5)).end(1);
  await workers.until(() => workers.lines.length === 4);
  expect(workers.pids()).toEqual([
    [2, 2],
    [1, 4],
  ]);
  workers.roll();
  (await workers.start(6)).begin();
  (await workers.start(7)).begin();
  await workers.until(() => workers.lines.at(-1) === 'workers replaced');
  expect(workers.pids()).toEqual([
    [1, 6],
    [2, 7],
  ]);
  expect(workers.failures).toEqual([]);
  await workers.stop();
  expect(workers.pids()).toEqual([]);
});

test('a worker that ends while it is the only one before it is ready is a failed start', async () => {
  const workers = fakeWorkers(2);
  (await workers.start(1)).end(3);
  await workers.until(() => workers.failures.length > 0);
  expect([workers.failures, workers.pids()]).toEqual([[3], []]);
});

test('a worker that ends later is started again, with its number', async () => {
  const workers = fakeWorkers(2);
  (await workers.start(1)).begin();
  (await workers.start(2)).begin();
  (await workers.start(2)).end(137);
  (await workers.start(3)).begin();
  expect([workers.lines, workers.pids()]).toEqual([
    ['a worker ended unexpectedly'],
    [
      [1, 1],
      [2, 3],
    ],
  ]);
  await workers.stop();
});

test('without shared sockets the old worker ends before the new one starts', async () => {
  const workers = fakeWorkers(1, false);
  (await workers.start(1)).begin();
  await (await workers.start(1)).part.ready;
  // The state follows the message.
  await Promise.resolve();
  workers.roll();
  const next = await workers.start(2);
  expect(workers.pids()).toEqual([[1, 2]]);
  next.begin();
  await workers.until(() => workers.lines.at(-1) === 'workers replaced');
  await workers.stop();
});
