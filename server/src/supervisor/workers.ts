import type { Logger } from 'pino';
import type { Part } from './part.ts';

const graceMs = 40_000;
const startMsMax = 600_000;
const restartMs = { first: 200, max: 10_000 };
/** After this time a worker counts as sound again. */
const steadyMs = 60_000;

export interface Workers {
  list(): { number: number; part: Part }[];
  roll(): void;
  stop(): Promise<void>;
  kill(): void;
}

interface Slot {
  number: number;
  part: Part | null;
  waitMs: number;
}

/** Workers share sockets, so a new one begins before the old one ends. `isShared: false`: one, which must end first. */
export function createWorkers(options: {
  /** Known when the first one may have begun. */
  count: Promise<number>;
  isShared: boolean;
  start: (worker: { number: number; isFirst: boolean }) => Part;
  onFailed: (code: number) => void;
  onExit: (part: Part) => void;
  log: Logger;
}): Workers {
  const { log } = options;
  const slots: Slot[] = [];
  const running = new Map<Part, number>();
  let wasReady = false;
  let isFirst = true;
  let isStopping = false;
  let isRolling = false;
  let isRequested = false;

  function startIn(slot: Slot): Part {
    const part = options.start({ number: slot.number, isFirst });
    isFirst = false;
    running.set(part, slot.number);
    void part.exited.then(() => {
      running.delete(part);
      options.onExit(part);
    });
    return part;
  }

  async function launch(slot: Slot): Promise<boolean> {
    const part = startIn(slot);
    slot.part = part;
    void watch(slot, part);
    const isReady = (await part.ready) !== null;
    wasReady ||= isReady;
    return isReady;
  }

  async function watch(slot: Slot, part: Part): Promise<void> {
    const startedAt = performance.now();
    const { code } = await part.exited;
    if (isStopping || slot.part !== part) return;
    if (!wasReady) return options.onFailed(code || 1);
    slot.waitMs =
      performance.now() - startedAt > steadyMs ? restartMs.first : Math.min(slot.waitMs * 2, restartMs.max);
    log.error(
      { code, worker: slot.number, pid: part.pid, restart_in_ms: slot.waitMs },
      'a worker ended unexpectedly',
    );
    await Bun.sleep(slot.waitMs);
    // A roll may have replaced it meanwhile.
    if (!isStopping && slot.part === part) await launch(slot);
  }

  async function replace(slot: Slot): Promise<boolean> {
    if (!options.isShared) {
      const old = slot.part;
      slot.part = null;
      await old?.stop(graceMs);
      return isStopping || launch(slot);
    }
    const next = startIn(slot);
    const timer = setTimeout(next.kill, startMsMax);
    const isReady = (await next.ready) !== null;
    clearTimeout(timer);
    if (!isReady) return false;
    const old = slot.part;
    slot.part = next;
    slot.waitMs = restartMs.first;
    void watch(slot, next);
    await old?.drain(graceMs);
    return true;
  }

  async function rollAll(): Promise<void> {
    while (isRequested && !isStopping) {
      isRequested = false;
      log.info({ workers: slots.length }, 'replacing the workers');
      for (const slot of slots) {
        if (isStopping) return;
        if (await replace(slot)) continue;
        if (isStopping) return;
        log.error({ worker: slot.number }, 'new worker did not start; the other workers were not replaced');
        return;
      }
      log.info({ workers: slots.length }, 'workers replaced');
    }
  }

  /** One after the other: the first prepares the database. */
  async function launchAll(): Promise<void> {
    let count = 1;
    while (!isStopping && slots.length < count) {
      const slot: Slot = { number: slots.length + 1, part: null, waitMs: restartMs.first };
      slots.push(slot);
      await launch(slot);
      if (!wasReady) return;
      count = await options.count;
    }
  }

  void launchAll().catch((error: unknown) => log.error({ err: error }, 'workers could not be started'));

  return {
    list: () => [...running].map(([part, number]) => ({ number, part })),
    roll() {
      if (isStopping || !wasReady) return;
      isRequested = true;
      if (isRolling) return;
      isRolling = true;
      void rollAll().finally(() => {
        isRolling = false;
      });
    },
    async stop() {
      isStopping = true;
      await Promise.all([...running.keys()].map((part) => part.stop(graceMs)));
    },
    kill() {
      isStopping = true;
      for (const part of running.keys()) part.kill();
    },
  };
}
