import { isIP } from 'node:net';
import { sql } from 'kysely';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';

export const accountAttemptsMax = 10;
export const addressAttemptsMax = 30;
export const userCodeAttemptsMax = 10;
const windowSeconds = 60;

export interface AttemptLimit {
  key: string;
  max: number;
}

/** By the name that was typed, whether or not there is such an account: a refusal must not tell. */
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
 * Counts an attempt before it is made, so that attempts made at once, at any number of copies of the server, can not
 * slip past the limit together. Answers null, or in how many seconds to come back. One that succeeds is given back.
 */
export async function takeAttempt(
  db: Db,
  limits: readonly AttemptLimit[],
  seconds = windowSeconds,
): Promise<number | null> {
  // In one order everywhere, or two sign-ins could wait for each other's row.
  const sorted = [...limits].sort((a, b) => (a.key < b.key ? -1 : 1));
  const rows = sql.join(sorted.map(({ key }) => sql`(${key}, now(), 1)`));
  const over = sql`attempt.window_start <= now() - make_interval(secs => ${seconds})`;
  const counted = await sql<{ key: string; failures: number; seconds: number }>`
    insert into svc.login_attempts as attempt (key, window_start, failures) values ${rows}
    on conflict (key) do update set
      failures = case when ${over} then 1 else attempt.failures + 1 end,
      window_start = case when ${over} then now() else attempt.window_start end
    returning key, failures,
      ceil(extract(epoch from window_start - now()) + ${seconds})::int as seconds`.execute(db);
  const maxOf = new Map(sorted.map(({ key, max }) => [key, max]));
  const exceeded = counted.rows.filter((row) => row.failures > (maxOf.get(row.key) ?? 0));
  return exceeded.length === 0 ? null : Math.max(1, ...exceeded.map((row) => row.seconds));
}

export async function giveBackAttempt(db: Db, limits: readonly AttemptLimit[]): Promise<void> {
  const keys = limits.map(({ key }) => key).sort();
  await sql`
    update svc.login_attempts set failures = failures - 1
    where failures > 0 and key in (
      select key from svc.login_attempts where key = any(${keys}) order by key for update
    )`.execute(db);
}

export async function forgetAttempts(db: Db, limit: AttemptLimit): Promise<void> {
  await sql`delete from svc.login_attempts where key = ${limit.key}`.execute(db);
}

export async function sweepLoginAttempts(db: Db): Promise<void> {
  await sql`delete from svc.login_attempts where window_start < now() - interval '1 hour'`.execute(db);
}

/** One holder of an IPv6 network has 2^64 addresses in it, so they count as one. */
export function addressGroup(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  const bare = address.replace(/%.*$/, '');
  if (isIP(bare) !== 6) return address;
  const [head = '', tail = ''] = bare.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const zeros = bare.includes('::') ? Array<string>(8 - left.length - right.length).fill('0') : [];
  const groups = [...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
}
