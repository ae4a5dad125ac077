import type { Logger } from 'pino';
import type { GateLogins } from '../drivers/raw-database/gate.ts';
import type { Part } from './part.ts';

const graceMs = 5_000;
const restartMs = 1_000;

/** The process that accepts connections to app databases. It starts when a worker asks for its port. */
export function createGateKeeper(log: Logger) {
  const logins: Record<string, number | null> = {};
  let part: Part | null = null;
  let isStopping = false;
  const keeper = {
    start: (): Part => {
      throw new Error('The server is starting.');
    },
    async port(): Promise<number> {
      const ready = await (part ?? open()).ready;
      if (!ready) throw new Error('The gate of app databases did not start.');
      return ready.port;
    },
    setLogins(more: GateLogins): void {
      Object.assign(logins, more);
      part?.send({ logins: more });
    },
    async stop(): Promise<void> {
      isStopping = true;
      await part?.stop(graceMs);
    },
    kill(): void {
      isStopping = true;
      part?.kill();
    },
  };

  function open(): Part {
    const opened = keeper.start();
    part = opened;
    void opened.ready.then(() => opened.send({ logins }));
    void opened.exited.then(async ({ code, ready }) => {
      part = null;
      if (isStopping) return;
      log.error({ code }, 'the gate of app databases ended unexpectedly');
      if (!ready) return;
      await Bun.sleep(restartMs);
      if (!isStopping && part === null) open();
    });
    return opened;
  }

  return keeper;
}
