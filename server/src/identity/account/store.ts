import { sql } from 'kysely';
import type { Db } from '../../core/db.ts';

interface CountedAttempt {
  key: string;
  max: number;
  firstSeconds: number;
  secondsMax: number;
}

/** After an hour without an attempt the count restarts. */
const isOver = sql`attempt.window_start <= now() - interval '1 hour'`;

export async function countAttempt(db: Db, attempt: CountedAttempt): Promise<number | null> {
  const { key, firstSeconds, secondsMax } = attempt;
  const max = Number.isFinite(attempt.max) ? attempt.max : 2 ** 30;
  // The exponent is bounded, because a power of a large number of failures would overflow.
  const blockedUntil = (failures: ReturnType<typeof sql>) => sql`case when ${failures} < ${max}::int then null
    else now() + make_interval(secs => least(${firstSeconds}::float8 * 2 ^ least(${failures} - ${max}::int, 30), ${secondsMax}::float8)) end`;
  const failures = sql`(case when ${isOver} then 1 else attempt.failures + 1 end)`;
  const counted = await sql`
    insert into svc.login_attempts as attempt (key, window_start, failures, blocked_until)
    values (${key}, now(), 1, ${blockedUntil(sql`1`)})
    on conflict (key) do update set failures = ${failures}, window_start = now(), blocked_until = ${blockedUntil(failures)}
    where attempt.blocked_until is null or attempt.blocked_until <= now() or ${isOver}
    returning key`.execute(db);
  if (counted.rows.length > 0) return null;
  const { rows } = await sql<{ seconds: number }>`
    select ceil(extract(epoch from blocked_until - now()))::int as seconds
    from svc.login_attempts where key = ${key}`.execute(db);
  return Math.max(1, rows[0]?.seconds ?? 1);
}

export async function countFailures(db: Db, key: string): Promise<number> {
  const { rows } = await sql<{ failures: number }>`
    select failures from svc.login_attempts as attempt where key = ${key} and not ${isOver}`.execute(db);
  return rows[0]?.failures ?? 0;
}

export async function decrementAttempts(db: Db, keys: readonly string[]): Promise<void> {
  await sql`
    update svc.login_attempts set failures = failures - 1, blocked_until = null
    where failures > 0 and key in (
      select key from svc.login_attempts where key = any(${keys}) order by key for update
    )`.execute(db);
}

export async function clearAttempts(db: Db, { key }: { key: string }): Promise<void> {
  await sql`delete from svc.login_attempts where key = ${key}`.execute(db);
}

export async function deleteOldLoginAttempts(db: Db): Promise<void> {
  await sql`delete from svc.login_attempts where window_start < now() - interval '1 hour'`.execute(db);
}

export async function findKnownOrigins(db: Db, userId: string, origins: readonly string[]) {
  const { rows } = await sql<{ origin: string }>`
    select origin from svc.known_origins
    where user_id = ${userId} and origin = any(${origins}::text[])`.execute(db);
  return rows.map(({ origin }) => origin);
}

export async function saveKnownOrigins(db: Db, userId: string, origins: readonly string[]): Promise<void> {
  await sql`
    insert into svc.known_origins (user_id, origin, last_used_at)
    select ${userId}, origin, now() from unnest(${origins}::text[]) as origin order by origin
    on conflict (user_id, origin) do update set last_used_at = excluded.last_used_at`.execute(db);
}

export async function deleteKnownOrigins(db: Db, userId: string): Promise<void> {
  await sql`delete from svc.known_origins where user_id = ${userId}`.execute(db);
}

export async function deleteOldAccountRows(db: Db): Promise<void> {
  await sql`delete from svc.known_origins where last_used_at < now() - interval '90 days'`.execute(db);
  await sql`delete from svc.account_tokens where expires_at < now()`.execute(db);
}

interface AccountToken {
  purpose: string;
  hash: string;
  userId: string | null;
  data: Record<string, unknown>;
}

/** A user has one token of a purpose at a time; tokens without a user are independent. */
export async function saveAccountToken(
  db: Db,
  { purpose, hash, userId, data }: AccountToken,
  secondsLeft: number,
): Promise<void> {
  if (userId !== null)
    await sql`delete from svc.account_tokens where user_id = ${userId} and purpose = ${purpose}`.execute(db);
  await sql`
    insert into svc.account_tokens (purpose, hash, user_id, data, expires_at)
    values (${purpose}, ${hash}, ${userId}, ${JSON.stringify(data)}::jsonb, now() + make_interval(secs => ${secondsLeft}))
    on conflict (purpose, hash) do update
      set user_id = excluded.user_id, data = excluded.data, expires_at = excluded.expires_at`.execute(db);
}

export async function findAccountToken(
  db: Db,
  { purpose, hash }: Pick<AccountToken, 'purpose' | 'hash'>,
): Promise<AccountToken | null> {
  const { rows } = await sql<AccountToken>`
    select purpose, hash, user_id as "userId", data from svc.account_tokens
    where purpose = ${purpose} and hash = ${hash} and expires_at > now()`.execute(db);
  return rows[0] ?? null;
}

export async function takeAccountToken(
  db: Db,
  { purpose, hash }: Pick<AccountToken, 'purpose' | 'hash'>,
): Promise<AccountToken | null> {
  const { rows } = await sql<AccountToken & { isValid: boolean }>`
    delete from svc.account_tokens where purpose = ${purpose} and hash = ${hash}
    returning purpose, hash, user_id as "userId", data, expires_at > now() as "isValid"`.execute(db);
  const [token] = rows;
  return token?.isValid ? token : null;
}
