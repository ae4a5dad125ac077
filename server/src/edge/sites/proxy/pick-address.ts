import type { Logger } from 'pino';
import type { Invalidation } from '../../../core/invalidation.ts';
import type { EdgeRequest, ProxyRequest } from '../../../http/edge-request.ts';
import type { HeaderList } from '../../../http/headers.ts';
import type { createVisitorAuth, Person, UserTokens } from '../authenticate-visitor.ts';
import type { RunningApp, SiteSnapshot } from '../site-cache.ts';
import type { AppClient } from './app-client.ts';
import type { createDeadlines } from './deadlines.ts';
import type { createReachable } from './instance-health.ts';

export interface ProxyInput {
  site: SiteSnapshot;
  request: EdgeRequest;
  whole: ProxyRequest;
  again(): Promise<SiteSnapshot | null>;
}

export const proxyLimits = {
  connectMs: 5_000,
  firstByteMs: 60_000,
  /** After this time without a response, it is checked whether the address still takes connections. */
  lostMs: 1_500,
  idleMs: 60_000,
  longIdleMs: 600_000,
  everyMs: 500,
  concurrentMax: 10_000,
  concurrentPerAppMax: 1_000,
};
export type ProxyLimits = typeof proxyLimits;

export interface ProxyDeps {
  authenticateVisitor: ReturnType<typeof createVisitorAuth>;
  onVisit?: (site: SiteSnapshot, app: RunningApp) => void;
  tokens: Pick<UserTokens, 'tokenFor'>;
  inFlight: InFlightCounter;
  invalidation: Pick<Invalidation, 'onChange'>;
  count(method: string, status: number): void;
  countApp(appId: string, status: number, bytes: number, ms: number): void;
  sleep: AppSleep;
  log: Logger;
  limits?: Partial<ProxyLimits>;
}

export interface ProxyExchange extends ProxyInput {
  app: RunningApp;
  person: Person | null;
  headers: HeaderList;
  isOver(): boolean | Promise<boolean>;
  slot: Slot;
  startedAt: number;
}

export type ProxyShared = ProxyDeps & {
  limits: ProxyLimits;
  client: AppClient;
  deadlines: ReturnType<typeof createDeadlines>;
  reachable: ReturnType<typeof createReachable>;
  waitForStart: ReturnType<typeof createWaker>;
  turn: number;
};

/** Without an address the site is looked up again, and an app that sleeps is started. `failed`: not to be used again. */
export async function pickAddress(
  shared: ProxyShared,
  exchange: ProxyExchange,
  failed: readonly string[] = [],
): Promise<string | null> {
  const { app, again, whole } = exchange;
  // A body that was sent once cannot be sent again.
  const how = whole.request.body === null ? 'lately' : 'now';
  const others =
    failed.length === 0 ? app.addresses : app.addresses.filter((address) => !failed.includes(address));
  const first = await firstReachable(shared, others.length > 0 ? others : app.addresses, how);
  if (first !== null) return first;
  const now = (await again())?.app?.addresses ?? [];
  if (now.length === 0 && app.wakeMs !== null)
    return firstReachable(shared, await shared.waitForStart(exchange), how);
  const isSame = now.length > 0 && now.every((address) => app.addresses.includes(address));
  return isSame ? null : firstReachable(shared, now, how);
}

/** Requests of this server process count; the others spread theirs alike. */
async function firstReachable(shared: ProxyShared, addresses: readonly string[], how: 'lately' | 'now') {
  const [only] = addresses;
  if (only !== undefined && addresses.length === 1)
    return (await shared.reachable.check(only, how)) ? only : null;
  const start = shared.turn++;
  const inTurn = addresses.map((_, at) => addresses[(start + at) % addresses.length] ?? '');
  const busy = new Map(inTurn.map((address) => [address, shared.inFlight.count(address)]));
  const inOrder = inTurn.sort((one, other) => (busy.get(one) ?? 0) - (busy.get(other) ?? 0));
  for (const address of inOrder) if (await shared.reachable.check(address, how)) return address;
  return null;
}

export interface Slot {
  pin(): () => void;
  release(): void;
}

export function createSlots(limits: Pick<ProxyLimits, 'concurrentMax' | 'concurrentPerAppMax'>) {
  const byApp = new Map<string, number>();
  let all = 0;
  return {
    isOpen: (appId: string) => byApp.has(appId),
    acquire(appId: string): Slot | null {
      const ofApp = byApp.get(appId) ?? 0;
      if (all >= limits.concurrentMax || ofApp >= limits.concurrentPerAppMax) return null;
      all++;
      byApp.set(appId, ofApp + 1);
      let isRetained = false;
      let hasLeft = false;
      const leave = () => {
        if (hasLeft) return;
        hasLeft = true;
        all--;
        const left = (byApp.get(appId) ?? 0) - 1;
        if (left > 0) byApp.set(appId, left);
        else byApp.delete(appId);
      };
      return {
        pin() {
          isRetained = true;
          return leave;
        },
        release() {
          if (!isRetained) leave();
        },
      };
    },
  };
}

export interface AppSleep {
  wake(appId: string): Promise<void>;
  waitForChange(appId: string, ms: number): Promise<void>;
  recordActivity(appIds: readonly string[]): Promise<void>;
  activityEveryMs: number;
}

const pollMs = 1_000;

export function createWaker({ wake, waitForChange }: Pick<AppSleep, 'wake' | 'waitForChange'>) {
  const waking = new Map<string, Promise<readonly string[]>>();

  async function waitForAddresses({ app, site, again, whole }: ProxyExchange): Promise<readonly string[]> {
    const until = performance.now() + (app.wakeMs ?? 0);
    for (;;) {
      // Subscribe before the look, so that no change is missed in between.
      const changed = waitForChange(site.appId, pollMs);
      // The visit itself has opened a deployment in review.
      if (site.hostKind !== 'staging') await wake(site.appId);
      const now = (await again())?.app;
      if (!now || now.addresses.length > 0) return now?.addresses ?? [];
      if (performance.now() > until || whole.isStopping()) return [];
      await changed;
    }
  }

  return async (exchange: ProxyExchange): Promise<readonly string[]> => {
    const { appId, hostKind } = exchange.site;
    const key = `${appId} ${hostKind === 'staging' ? hostKind : 'live'}`;
    const under = waking.get(key) ?? waitForAddresses(exchange).finally(() => waking.delete(key));
    waking.set(key, under);
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

export type InFlightCounter = ReturnType<typeof createInFlightCounter>;

/** Proxied requests and WebSockets by instance address. An instance is stopped when its count is zero. */
export function createInFlightCounter() {
  const counts = new Map<string, number>();
  return {
    begin: (address: string) => void counts.set(address, (counts.get(address) ?? 0) + 1),
    end(address: string) {
      const left = (counts.get(address) ?? 0) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    },
    count: (address: string) => counts.get(address) ?? 0,
  };
}
