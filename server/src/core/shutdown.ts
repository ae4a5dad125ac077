import type { Logger } from 'pino';

export function createShutdown(log: Logger) {
  const stops: (() => unknown)[] = [];
  const early: (() => unknown)[] = [];
  return {
    onStop: (step: () => unknown) => void stops.unshift(step),
    onStopping: (step: () => unknown) => void early.push(step),
    stopWaiting() {
      for (const step of early) step();
    },
    async stop() {
      for (const step of stops) {
        try {
          await step();
        } catch (error) {
          log.warn({ err: error }, 'stopping a part failed');
        }
      }
    },
  };
}
