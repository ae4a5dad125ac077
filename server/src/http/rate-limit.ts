import type { Caller } from '../core/context.ts';
import { fail } from '../core/problem.ts';
import { addressGroup } from './client-address.ts';

export type RateLimit = (key: string, perMinuteMax: number) => void;

const windowMs = 60_000;
/** Beyond this, the least recently used keys are dropped; that can only admit more calls. */
const keysMax = 10_000;

export interface CallCounter {
  /** Throws where the key was counted as often as is allowed within a minute. */
  require(key: string, perMinuteMax: number): void;
  add(key: string): void;
}

/** With `shared`, all processes of the server count together. The name keeps its keys apart from others. */
export function createCallCounter(
  now: () => Date,
  shared?: { exchange: CountExchange; name: string },
): CallCounter {
  const calls = new Map<string, number[]>();
  const prefix = `${shared?.name} `;
  const share = shared && shareCounts(shared.exchange);
  shared?.exchange.onReceive((counts) => {
    for (const [key, more] of Object.entries(counts))
      if (key.startsWith(prefix)) count(key.slice(prefix.length), more);
  });
  const recentCalls = (key: string, at: number) =>
    (calls.get(key) ?? []).filter((time) => time > at - windowMs);
  return {
    require(key, perMinuteMax) {
      const at = now().getTime();
      const recent = recentCalls(key, at);
      const oldest = recent[0];
      if (recent.length < perMinuteMax || oldest === undefined) return;
      throw fail('rate_limited', {
        detail: `At most ${perMinuteMax} requests per minute.`,
        headers: { 'retry-after': String(Math.max(1, Math.ceil((oldest + windowMs - at) / 1000))) },
      });
    },
    add(key) {
      count(key, 1);
      share?.(prefix + key);
    },
  };

  function count(key: string, more: number): void {
    const at = now().getTime();
    const recent = recentCalls(key, at);
    // Deleted and set again, so that the map is ordered by last use.
    calls.delete(key);
    calls.set(key, [...recent, ...Array<number>(more).fill(at)]);
    const first = calls.size > keysMax ? calls.keys().next().value : undefined;
    if (first !== undefined) calls.delete(first);
  }
}

export function createRateLimit(now: () => Date): RateLimit {
  const calls = createCallCounter(now);
  return (key, perMinuteMax) => {
    calls.require(key, perMinuteMax);
    calls.add(key);
  };
}

export interface CallerLimits {
  person: number;
  token: number;
  address: number;
}

export type CountedCaller = Pick<Caller, 'kind' | 'userId' | 'credentialId' | 'scope'>;

/**
 * Counts the request and returns the headers with the remaining count. A token has a limit of its own,
 * other credentials share the one of their person, and requests without a valid credential the one of their address.
 * `when_low` leaves the headers out while more than half is left: they cost 20 times as much as the counting.
 */
export type CallerLimit = (
  caller: CountedCaller | null,
  address: () => string,
  headers: 'always' | 'when_low',
) => Record<string, string> | undefined;

const windowSeconds = 10;
/** Beyond this, the oldest windows are dropped; that can only admit more requests. */
const windowsMax = 50_000;

interface Window {
  endsAt: number;
  count: number;
}

/** Other processes of the same server, which tell each other what they have counted. */
export interface CountExchange {
  send(counts: Counts): void;
  onReceive(listener: (counts: Counts) => void): void;
}

export type Counts = Readonly<Record<string, number>>;

const exchangeMs = 250;

/** In the memory of the process, so that a request costs no query. */
export function createCallerLimit(
  limits: CallerLimits,
  { now = Date.now, exchange }: { now?: () => number; exchange?: CountExchange | undefined } = {},
): CallerLimit {
  const windows = new Map<string, Window>();
  const share = exchange && shareCounts(exchange);
  exchange?.onReceive((counts) => {
    const at = now();
    // Keys of other counters have a name before a space.
    for (const [key, more] of Object.entries(counts)) if (!key.includes(' ')) count(key, at, more);
  });
  const policies = {
    person: `"person";q=${limits.person};w=${windowSeconds}`,
    token: `"token";q=${limits.token};w=${windowSeconds}`,
    address: `"address";q=${limits.address};w=${windowSeconds}`,
  };

  function count(key: string, at: number, more: number): Window {
    const open = windows.get(key);
    if (open !== undefined && open.endsAt > at) {
      open.count += more;
      return open;
    }
    // Deleted and set again, so that the map is ordered by age.
    windows.delete(key);
    const window = { endsAt: at + windowSeconds * 1000, count: more };
    windows.set(key, window);
    if (windows.size > windowsMax) {
      const oldest = windows.keys().next().value;
      if (oldest !== undefined) windows.delete(oldest);
    }
    return window;
  }

  return (caller, address, when) => {
    const isToken = caller?.scope !== undefined || caller?.kind === 'scim';
    const kind = caller === null ? 'address' : isToken ? 'token' : 'person';
    const max = limits[kind];
    if (max === 0) return undefined;
    const key =
      caller === null ? addressGroup(address()) : kind === 'token' ? caller.credentialId : caller.userId;
    const at = now();
    const window = count(key, at, 1);
    share?.(key);
    if (when === 'when_low' && window.count * 2 < max) return undefined;
    const seconds = Math.ceil((window.endsAt - at) / 1000);
    const headers = {
      'ratelimit-policy': policies[kind],
      ratelimit: `"${kind}";r=${Math.max(0, max - window.count)};t=${seconds}`,
    };
    if (window.count <= max) return headers;
    throw fail('rate_limited', {
      detail: `At most ${max} requests in ${windowSeconds} seconds for one ${kind}.`,
      headers: { ...headers, 'retry-after': String(seconds) },
    });
  };
}

function shareCounts({ send }: CountExchange): (key: string) => void {
  let waiting: Record<string, number> | null = null;
  return (key) => {
    if (waiting === null) {
      waiting = {};
      setTimeout(() => {
        if (waiting) send(waiting);
        waiting = null;
      }, exchangeMs).unref();
    }
    waiting[key] = (waiting[key] ?? 0) + 1;
  };
}
