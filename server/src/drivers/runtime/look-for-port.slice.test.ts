import { expect, test } from 'bun:test';
import { type Forward, lookForPort, type PortFinder } from './look-for-port.ts';
import type { Listener, Target } from './process/network.ts';

const port = 20_000;
const at = (number: number): Listener => ({ address: '0.0.0.0', port: number, uid: 0 });
const settledMs = 1_000;

interface Look {
  finder: PortFinder;
  opened: Promise<{ target: Target; afterMs: number }>;
  changes: string[];
}

/** An app whose listeners are those of `listeners`, and which is idle as `isIdle` says. */
function lookAt(listeners: () => Listener[], isIdle: () => boolean): Look {
  const startedAt = performance.now();
  const opened = Promise.withResolvers<{ target: Target; afterMs: number }>();
  const changes: string[] = [];
  const finder = lookForPort({
    port,
    own: `127.0.0.1:${port}`,
    listeners,
    isDirect: () => true,
    isIdle,
    async open(target) {
      opened.resolve({ target, afterMs: performance.now() - startedAt });
      const forward: Forward = {
        address: `127.0.0.1:1${target.port}`,
        target,
        isRunning: () => true,
        close: async () => {},
      };
      return forward;
    },
    log: () => {},
    onChange: () => changes.push(finder.address()),
  });
  return { finder, opened: opened.promise, changes };
}

test('an app that is idle and listens on one other port is found there at once', async () => {
  const { finder, opened } = lookAt(
    () => [at(3000)],
    () => true,
  );
  const { target, afterMs } = await opened;
  expect(target).toEqual({ port: 3000, family: 4 });
  expect(afterMs).toBeLessThan(settledMs);
  await finder.close();
});

test.each([
  ['is busy', [at(3000)], () => false],
  ['listens on several ports', [at(3000), at(9090)], () => true],
  ['has only the port of a debugger', [at(9229)], () => true],
])('one that %s may still open PORT', async (_, listeners, isIdle) => {
  const { finder, opened } = lookAt(() => listeners, isIdle);
  expect((await opened).afterMs).toBeGreaterThan(settledMs - 100);
  await finder.close();
});

test('it goes on from the other port to PORT as soon as that is open', async () => {
  const listeners = [at(9090)];
  const { finder, changes } = lookAt(
    () => listeners,
    () => true,
  );
  while (finder.address() !== '127.0.0.1:19090') await Bun.sleep(5);
  listeners.push(at(port));
  const openedAt = performance.now();
  while (finder.address() !== `127.0.0.1:${port}`) await Bun.sleep(5);
  expect(performance.now() - openedAt).toBeLessThan(settledMs / 2);
  expect(changes).toEqual(['127.0.0.1:19090', `127.0.0.1:${port}`]);
  await finder.close();
});
