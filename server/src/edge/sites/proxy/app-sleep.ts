import type { Logger } from 'pino';
import type { ProxyExchange } from './pick-address.ts';

export interface AppSleep {
  /** Has the app started, unless it is awake. */
  wake(appId: string): Promise<void>;
  /** Resolves when the app changes, or after the time. */
  waitForChange(appId: string, ms: number): Promise<void>;
  recordActivity(appIds: readonly string[]): Promise<void>;
  /** Interval of `recordActivity`. */
  activityEveryMs: number;
}

const pollMs = 1_000;

/** Requests of an app that sleeps wait for its start together. */
export function createWaker({ wake, waitForChange }: Pick<AppSleep, 'wake' | 'waitForChange'>) {
  const waking = new Map<string, Promise<readonly string[]>>();

  async function waitForAddresses({ app, site, again, whole }: ProxyExchange): Promise<readonly string[]> {
    const until = performance.now() + (app.wakeMs ?? 0);
    for (;;) {
      // Subscribe before the look, so that no change is missed in between.
      const changed = waitForChange(site.appId, pollMs);
      await wake(site.appId);
      const now = (await again())?.app;
      if (!now || now.addresses.length > 0) return now?.addresses ?? [];
      if (performance.now() > until || whole.isStopping()) return [];
      await changed;
    }
  }

  /** Empty if the app did not start in time, or the client has left. */
  return async (exchange: ProxyExchange): Promise<readonly string[]> => {
    const { appId } = exchange.site;
    const under = waking.get(appId) ?? waitForAddresses(exchange).finally(() => waking.delete(appId));
    waking.set(appId, under);
    const { signal } = exchange.whole.request;
    const gone = Promise.withResolvers<readonly string[]>();
    const leave = () => gone.resolve([]);
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([under, gone.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  };
}

/** An open request, event stream or WebSocket counts as activity until it ends. */
export function createActivity(
  { recordActivity, activityEveryMs }: Pick<AppSleep, 'recordActivity' | 'activityEveryMs'>,
  { isOpen, log }: { isOpen(appId: string): boolean; log: Logger },
) {
  const active = new Set<string>();
  const timer = setInterval(async () => {
    if (active.size === 0) return;
    const appIds = [...active];
    for (const appId of appIds) if (!isOpen(appId)) active.delete(appId);
    await recordActivity(appIds).catch((error: unknown) => {
      log.warn({ err: error }, 'the activity of apps was not recorded');
      for (const appId of appIds) active.add(appId);
    });
  }, activityEveryMs);
  timer.unref();
  return {
    note: (appId: string) => void active.add(appId),
    stop: () => clearInterval(timer),
  };
}
