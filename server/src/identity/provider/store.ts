import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';

interface UpstreamSubject {
  issuer: string;
  subject: string;
}

export async function findLinkedUser(db: Db, { issuer, subject }: UpstreamSubject): Promise<string | null> {
  const { rows } = await sql<{ user_id: string }>`
    select user_id from svc.user_links where issuer = ${issuer} and subject = ${subject}`.execute(db);
  return rows[0]?.user_id ?? null;
}

export async function insertUserLink(
  tx: Tx,
  { issuer, subject, userId, now }: UpstreamSubject & { userId: string; now: Date },
): Promise<void> {
  await sql`
    insert into svc.user_links (issuer, subject, user_id, created_at)
    values (${issuer}, ${subject}, ${userId}, ${now})`.execute(tx);
}

/** A user whom a directory created and who has no way to sign in yet; null unless there is exactly one. */
export async function lockUnclaimedUser(
  tx: Tx,
  { subject, email }: { subject: string; email: string | null },
): Promise<{ id: string; email: string } | null> {
  const { rows } = await sql<{ id: string; email: string }>`
    select u.id, u.email from svc.users u
    where u.provisioned_by is not null and u.password_hash is null
      and not exists (select from svc.user_links l where l.user_id = u.id)
      and (lower(u.email) = lower(${email}::text)
        or exists (select from svc.scim_users s where s.user_id = u.id and s.external_id = ${subject}))
    limit 2 for no key update`.execute(tx);
  return rows.length === 1 ? (rows[0] ?? null) : null;
}

/** `failures` of the current window, with this attempt, and the seconds until the window ends. */
export async function countAttempts(db: Db, { keys, seconds }: { keys: readonly string[]; seconds: number }) {
  const rows = sql.join(keys.map((key) => sql`(${key}, now(), 1)`));
  const over = sql`attempt.window_start <= now() - make_interval(secs => ${seconds})`;
  const counted = await sql<{ key: string; failures: number; seconds: number }>`
    insert into svc.login_attempts as attempt (key, window_start, failures) values ${rows}
    on conflict (key) do update set
      failures = case when ${over} then 1 else attempt.failures + 1 end,
      window_start = case when ${over} then now() else attempt.window_start end
    returning key, failures,
      ceil(extract(epoch from window_start - now()) + ${seconds})::int as seconds`.execute(db);
  return counted.rows;
}

export async function decrementAttempts(db: Db, keys: readonly string[]): Promise<void> {
  await sql`
    update svc.login_attempts set failures = failures - 1
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
