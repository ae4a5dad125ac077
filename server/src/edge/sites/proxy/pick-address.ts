import type { Logger } from 'pino';
import type { Invalidation } from '../../../core/invalidation.ts';
import type { EdgeRequest, ProxyRequest } from '../../../http/edge-request.ts';
import type { createVisitorAuth } from '../authenticate-visitor.ts';
import type { InFlightCounter } from '../requests-in-flight.ts';
import type { RunningApp, SiteSnapshot } from '../site-cache.ts';
import type { Person, UserTokens } from '../user-tokens.ts';
import type { AppClient } from './app-client.ts';
import type { AppSleep, createWaker } from './app-sleep.ts';
import type { createDeadlines } from './deadlines.ts';
import type { createReachable } from './instance-health.ts';

export interface ProxyInput {
  site: SiteSnapshot;
  request: EdgeRequest;
  whole: ProxyRequest;
  /** Looks the site up again. */
  again(): Promise<SiteSnapshot | null>;
}

export const proxyLimits = {
  connectMs: 5_000,
  firstByteMs: 60_000,
  /** After this time without a response, it is checked whether the address still takes connections. */
  lostMs: 1_500,
  /** Between two chunks of a body, in either direction. */
  idleMs: 60_000,
  /** For event streams and WebSockets. */
  longIdleMs: 600_000,
  /** Interval of the deadline checks. */
  everyMs: 500,
  /** Open requests and WebSockets. */
  concurrentMax: 10_000,
  concurrentPerAppMax: 1_000,
};
export type ProxyLimits = typeof proxyLimits;

export interface ProxyDeps {
  authenticateVisitor: ReturnType<typeof createVisitorAuth>;
  /** Called for each request that is allowed. */
  onVisit?: (site: SiteSnapshot, app: RunningApp) => void;
  tokens: Pick<UserTokens, 'tokenFor'>;
  inFlight: InFlightCounter;
  invalidation: Pick<Invalidation, 'onChange'>;
  count(method: string, status: number): void;
  /** `ms` is the time to the first byte. */
  countApp(appId: string, status: number, bytes: number, ms: number): void;
  sleep: AppSleep;
  log: Logger;
  limits?: Partial<ProxyLimits>;
}

export interface ProxyExchange extends ProxyInput {
  app: RunningApp;
  person: Person | null;
  headers: Headers;
  /** True if the stream must end: the server stops, or the visitor lost access. */
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
  /** Round robin over the least busy addresses of an app. */
  turn: number;
};

/**
 * The least busy accessible address. Without one, the site is looked up again, because the app may have moved, and an app that
 * sleeps is started. `failed`: where the request could not be sent.
 */
export async function pickAddress(
  shared: ProxyShared,
  exchange: ProxyExchange,
  failed: readonly string[] = [],
): Promise<string | null> {
  const { app, again, whole } = exchange;
  // A body that was sent once cannot be sent again.
  const how = whole.request.body === null ? 'lately' : 'now';
  const others = app.addresses.filter((address) => !failed.includes(address));
  const first = await firstReachable(shared, others.length > 0 ? others : app.addresses, how);
  if (first !== null) return first;
  const now = (await again())?.app?.addresses ?? [];
  if (now.length === 0 && app.wakeMs !== null)
    return firstReachable(shared, await shared.waitForStart(exchange), how);
  const isSame = now.length > 0 && now.every((address) => app.addresses.includes(address));
  return isSame ? null : firstReachable(shared, now, how);
}

/** Requests of this server process count; the others spread theirs alike. */
async function firstReachable(
  shared: ProxyShared,
  addresses: readonly string[],
  how: 'lately' | 'now',
): Promise<string | null> {
  const start = shared.turn++;
  const inTurn = addresses.map((_, at) => addresses[(start + at) % addresses.length] ?? '');
  const busy = new Map(inTurn.map((address) => [address, shared.inFlight.count(address)]));
  const inOrder = inTurn.sort((one, other) => (busy.get(one) ?? 0) - (busy.get(other) ?? 0));
  for (const address of inOrder) if (await shared.reachable.check(address, how)) return address;
  return null;
}

export interface Slot {
  /** Keeps the slot beyond the response head; returns the function that releases it. */
  keep(): () => void;
  /** Releases the slot unless it is kept. */
  release(): void;
}

/** Limits concurrent requests, in all and per app. */
export function createSlots(limits: Pick<ProxyLimits, 'concurrentMax' | 'concurrentPerAppMax'>) {
  const byApp = new Map<string, number>();
  let all = 0;
  return {
    isOpen: (appId: string) => byApp.has(appId),
    /** Null if the limit is reached. */
    acquire(appId: string): Slot | null {
      const ofApp = byApp.get(appId) ?? 0;
      if (all >= limits.concurrentMax || ofApp >= limits.concurrentPerAppMax) return null;
      all++;
      byApp.set(appId, ofApp + 1);
      let isKept = false;
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
        keep() {
          isKept = true;
          return leave;
        },
        release() {
          if (!isKept) leave();
        },
      };
    },
  };
}
