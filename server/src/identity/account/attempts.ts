import type { Db } from '../../core/db.ts';
import { nilUuid, sha256 } from '../../core/values.ts';
import { addressGroup } from '../../http/client-address.ts';
import { findUser } from '../../people/users/users.ts';
import {
  clearAttempts,
  countAttempt,
  countFailures,
  decrementAttempts,
  findKnownOrigins,
  saveKnownOrigins,
} from './store.ts';

export const accountAttemptsMax = 5;
export const addressAttemptsMax = 30;
export const userCodeAttemptsMax = 10;
/** Failures of one account from unknown origins, after which each of these has one attempt before it waits. */
export const attackedFrom = 50;

export interface AttemptLimit {
  key: string;
  max: number;
  firstSeconds?: number;
}

export interface Origin {
  address: string;
  browser: string | null;
}

export interface SignInLimits {
  own: AttemptLimit;
  shared: AttemptLimit[];
}

/**
 * Waits are per account and origin. An origin that the user has signed in from has limits of its own, so that
 * failures of others never slow it down. An unknown one always has at least one attempt: nobody can lock the user
 * out. By the name as typed, whether or not the account exists: the response must not reveal that.
 */
export async function signInLimits(db: Db, email: string, origin: Origin): Promise<SignInLimits> {
  const account = `login:account:${sha256(email.trim().toLowerCase())}`;
  const user = await findUser({ db }, { ref: email.trim() });
  const { browser, address } = originNames(origin);
  const known = await findKnownOrigins(db, user?.id ?? nilUuid, [browser, address]);
  for (const name of [browser, address])
    if (known.includes(name))
      return { own: { key: `${account}:${name}`, max: accountAttemptsMax }, shared: [] };
  const isAttacked = (await countFailures(db, account)) >= attackedFrom;
  return {
    own: { key: `${account}:${address}`, max: isAttacked ? 1 : accountAttemptsMax },
    shared: [
      { key: account, max: Number.POSITIVE_INFINITY },
      { key: `login:${address}`, max: addressAttemptsMax },
    ],
  };
}

export async function recordSuccess(
  db: Db,
  limits: SignInLimits,
  { userId, origin }: { userId: string; origin: Origin },
): Promise<void> {
  await clearAttempts(db, limits.own);
  const { browser, address } = originNames(origin);
  await saveKnownOrigins(db, userId, origin.browser === null ? [address] : [address, browser]);
}

function originNames({ browser, address }: Origin): Record<'browser' | 'address', string> {
  return { browser: `browser:${browser ?? ''}`, address: `address:${addressGroup(address)}` };
}

export function userCodeLimits(clientAddress: string, sessionId: string | undefined): AttemptLimit[] {
  const keys = [`device:address:${addressGroup(clientAddress)}`];
  if (sessionId) keys.push(`device:session:${sha256(sessionId)}`);
  return keys.map((key) => ({ key, max: userCodeAttemptsMax, firstSeconds: 60 }));
}

const firstWaitSeconds = 5;
const waitSecondsMax = 900;

/** Counted before the attempt, so that concurrent ones cannot exceed the limit together. Returns null, or seconds to wait: 5, 10, 20 … */
export async function recordAttempt(db: Db, limits: readonly AttemptLimit[]): Promise<number | null> {
  const seconds: number[] = [];
  // In one order everywhere to avoid deadlocks.
  for (const limit of limits.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const wait = await countAttempt(db, {
      firstSeconds: firstWaitSeconds,
      secondsMax: waitSecondsMax,
      ...limit,
    });
    if (wait !== null) seconds.push(wait);
  }
  return seconds.length === 0 ? null : Math.max(1, ...seconds);
}

export function refundAttempt(db: Db, limits: readonly AttemptLimit[]): Promise<void> {
  return decrementAttempts(
    db,
    limits.map(({ key }) => key),
  );
}
