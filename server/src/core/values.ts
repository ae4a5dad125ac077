import { uuidPattern } from '@svc/contract/limits.ts';

export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

export function isDeepEqual(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

export function sha256(text: string | Uint8Array): string {
  return Bun.SHA256.hash(text, 'hex');
}

export function quotePath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

/** Distinguishes ids from slugs: the contract forbids slugs that look like a UUID. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

export const nilUuid = '00000000-0000-0000-0000-000000000000';

const dayMs = 24 * 60 * 60 * 1000;

export function daysAfter(from: Date, days: number): Date {
  return new Date(from.getTime() + days * dayMs);
}

/** Rejects with `error` after `ms`. How the work ends after that is ignored. */
export async function withTimeout<T>(work: Promise<T>, ms: number, error: () => Error): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(error()), Math.max(ms, 0));
  try {
    return await Promise.race([work, overdue]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}

let turnAt: number | null = null;

const forgetTurn = () => {
  turnAt = null;
};

/** `performance.now()`, read once in each turn of the event loop: a point read would read the clock ten times. */
export function turnNow(): number {
  if (turnAt !== null) return turnAt;
  turnAt = performance.now();
  setImmediate(forgetTurn);
  return turnAt;
}
