import type { Db } from '../../core/db.ts';
import { sha256 } from '../../core/values.ts';
import { addressGroup } from '../../http/client-address.ts';
import { countAttempts, decrementAttempts } from './store.ts';

export const accountAttemptsMax = 10;
export const addressAttemptsMax = 30;
export const userCodeAttemptsMax = 10;
const windowSeconds = 60;

export interface AttemptLimit {
  key: string;
  max: number;
}

/** By the name as typed, whether or not the account exists: the response must not reveal that. */
export function accountLimit(email: string): AttemptLimit {
  return { key: `login:account:${sha256(email.trim().toLowerCase())}`, max: accountAttemptsMax };
}

export function addressLimit(clientAddress: string): AttemptLimit {
  return { key: `login:address:${addressGroup(clientAddress)}`, max: addressAttemptsMax };
}

export function userCodeLimits(clientAddress: string, sessionId: string | undefined): AttemptLimit[] {
  const limits = [{ key: `device:address:${addressGroup(clientAddress)}`, max: userCodeAttemptsMax }];
  if (sessionId) limits.push({ key: `device:session:${sha256(sessionId)}`, max: userCodeAttemptsMax });
  return limits;
}

/**
 * Counts the attempt before it is made, so that concurrent attempts on any server cannot exceed the limit
 * together. Returns null, or the seconds to wait. A successful attempt is given back.
 */
export async function recordAttempt(
  db: Db,
  limits: readonly AttemptLimit[],
  seconds = windowSeconds,
): Promise<number | null> {
  const maxOf = new Map(limits.map(({ key, max }) => [key, max]));
  // In one order everywhere to avoid deadlocks.
  const counted = await countAttempts(db, { keys: [...maxOf.keys()].sort(), seconds });
  const exceeded = counted.filter((row) => row.failures > (maxOf.get(row.key) ?? 0));
  return exceeded.length === 0 ? null : Math.max(1, ...exceeded.map((row) => row.seconds));
}

export function refundAttempt(db: Db, limits: readonly AttemptLimit[]): Promise<void> {
  return decrementAttempts(
    db,
    limits.map(({ key }) => key),
  );
}
