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
