import type { Logger } from 'pino';
import type { Db } from '../core/db.ts';
import type { Events, Subscription } from '../core/events.ts';
import type { Invalidation } from '../core/invalidation.ts';
import type { Job } from '../core/jobs.ts';
import type { Key, KeyRing, LiveKey } from '../core/keys.ts';
import type { Metrics } from '../core/metrics.ts';
import type { RowDatabase } from '../core/mutation.ts';
import type { EffectHandler, Outbox } from '../core/outbox-worker.ts';
import type { PathHandler } from './front.ts';
import type { CallerLimit } from './rate-limit.ts';
import type { Route } from './router.ts';

/** `platform.ts` opens the modules in order, each with the services of earlier ones, then starts them in order. */
export interface Module {
  name: string;
  keys?: readonly Key[];
  open?(deps: Deps): Promise<object> | object;
  routes?(deps: Deps): readonly Route[];
  handlers?(deps: Deps): readonly PathHandler[];
  effects?(deps: Deps): Readonly<Record<string, EffectHandler>>;
  jobs?(deps: Deps): readonly Job[];
  subscriptions?(deps: EventDeps): readonly Subscription[];
  start?(deps: Deps): Promise<void> | void;
}

export interface Deps {
  config: { baseUrl: string; appsDomain: string; dataDir: string };
  log: Logger;
  metrics: Metrics;
  db: Db;
  outbox: Outbox;
  invalidation: Invalidation;
  onCommitted: (tag: string) => void;
  rows: RowDatabase;
  events: Events;
  now: () => Date;
  callerLimit?: CallerLimit;
  keys: KeyRing;
  urlKey: LiveKey<string>;
  onStop(stop: () => unknown): void;
  /** Runs before open requests are waited for: ends what would keep them open. */
  onStopping(stop: () => unknown): void;
}

/** All that subscribers need beside the publisher's context: `svc-admin` publishes events without a platform. */
export interface EventDeps {
  runtime: { kind: 'process' | 'docker' };
}

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
