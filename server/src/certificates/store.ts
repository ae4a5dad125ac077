import { sql } from 'kysely';
import type { OrderFailureReason } from '../drivers/certificates/certificate-authority.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import { askedAgainMs } from './rules.ts';

/** Longer than an order may take; a copy that ended in the middle holds it for no longer. */
const leaseSeconds = 180;

export interface DueOrder {
  domainId: string;
  tenantId: string;
  host: string;
  failures: number;
  notAfter: Date | null;
  orderingId: string;
}

/** Where there is none, or none that counts, one is ordered as soon as may be. */
export async function wantCertificate(
  db: Db,
  domain: { tenantId: string; domainId: string; host: string },
): Promise<void> {
  await sql`
    insert into svc.certificates as c (domain_id, tenant_id, host, next_try_at)
    values (${domain.domainId}, ${domain.tenantId}, ${domain.host}, now())
    on conflict (domain_id) do update
    set next_try_at = least(c.next_try_at,
      greatest(now(), c.tried_at + make_interval(secs => ${askedAgainMs / 1000}), c.held_until))
    where c.tenant_id = ${domain.tenantId} and (c.not_after is null or c.not_after <= now())`.execute(db);
}

/**
 * Of every tenant that has none under way. What one copy of the server takes, no other takes before the lease is over;
 * none is taken while the authority wants to be left alone.
 */
export async function takeDueOrder(db: Db, authority: string): Promise<DueOrder | null> {
  return await db.transaction().execute(async (tx) => {
    // One copy after the other: two that look at once would take two of one tenant.
    await sql`select pg_advisory_xact_lock(hashtextextended('svc certificates due', 0))`.execute(tx);
    const { rows } = await sql<DueOrder>`
      update svc.certificates
      set ordering_id = gen_random_uuid(), tried_at = now(),
        ordering_until = now() + make_interval(secs => ${leaseSeconds})
      where domain_id = (
        select domain_id from svc.certificates as due
        where next_try_at <= now()
          and not exists (select from svc.certificates as other
            where other.tenant_id = due.tenant_id and other.ordering_until > now())
          and not exists (select from svc.acme_holds
            where authority = ${authority} and held_until > now())
        order by next_try_at limit 1 for update skip locked)
      returning domain_id as "domainId", tenant_id as "tenantId", host, failures, not_after as "notAfter",
        ordering_id as "orderingId"`.execute(tx);
    return rows[0] ?? null;
  });
}

/** For every copy of the server. */
export async function holdAuthority(db: Db, hold: { authority: string; until: Date }): Promise<void> {
  await sql`
    insert into svc.acme_holds as h (authority, held_until) values (${hold.authority}, ${hold.until})
    on conflict (authority) do update set held_until = greatest(h.held_until, excluded.held_until)`.execute(
    db,
  );
}

export interface IssuedRow {
  chain: string;
  keySealed: Buffer;
  notBefore: Date;
  notAfter: Date;
  renewAt: Date;
}

/** False where the domain is gone meanwhile, or another copy has taken over. */
export async function keepIssued(tx: Tx, order: DueOrder, issued: IssuedRow): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.certificates
    set chain_pem = ${issued.chain}, key_sealed = ${issued.keySealed}, not_before = ${issued.notBefore},
      not_after = ${issued.notAfter}, issued_at = now(), next_try_at = ${issued.renewAt}, failures = 0,
      failure_reason = null, failure_text = null, held_until = null, ordering_until = null, ordering_id = null
    where tenant_id = ${order.tenantId} and domain_id = ${order.domainId} and ordering_id = ${order.orderingId}`.execute(
    tx,
  );
  return numAffectedRows === 1n;
}

export async function keepFailure(
  db: Db,
  order: DueOrder,
  failure: { reason: OrderFailureReason; text: string; nextTryAt: Date; heldUntil: Date | null },
): Promise<void> {
  await sql`
    update svc.certificates
    set failures = failures + 1, failure_reason = ${failure.reason}, failure_text = ${failure.text},
      next_try_at = ${failure.nextTryAt}, held_until = ${failure.heldUntil}, ordering_until = null, ordering_id = null
    where tenant_id = ${order.tenantId} and domain_id = ${order.domainId} and ordering_id = ${order.orderingId}`.execute(
    db,
  );
}

/** Not tried: it is taken up again at the time given. */
export async function putBack(db: Db, order: DueOrder, at: Date): Promise<void> {
  await sql`
    update svc.certificates set next_try_at = ${at}, tried_at = null, ordering_until = null, ordering_id = null
    where tenant_id = ${order.tenantId} and domain_id = ${order.domainId} and ordering_id = ${order.orderingId}`.execute(
    db,
  );
}

export interface CertificateRow {
  notAfter: Date | null;
  isOrdering: boolean;
  nextTryAt: Date;
  failureReason: OrderFailureReason | null;
  failureText: string | null;
  /** By the database's clock, as all of it. */
  isOver: boolean;
}

export async function findCertificate(db: Db, domainId: string): Promise<CertificateRow | null> {
  const { rows } = await sql<CertificateRow>`
    select not_after as "notAfter", coalesce(ordering_until > now(), false) as "isOrdering",
      next_try_at as "nextTryAt", failure_reason as "failureReason", failure_text as "failureText",
      coalesce(not_after <= now(), false) as "isOver"
    from svc.certificates where domain_id = ${domainId}`.execute(db);
  return rows[0] ?? null;
}

export interface KeptCertificate {
  domainId: string;
  host: string;
  issuedAt: Date;
}

/** Of every tenant, the newest of a host last; without the certificates themselves. */
export async function listKept(db: Db): Promise<KeptCertificate[]> {
  const { rows } = await sql<KeptCertificate>`
    select domain_id as "domainId", host, issued_at as "issuedAt" from svc.certificates
    where not_after > now() order by issued_at`.execute(db);
  return rows;
}

export async function readKept(
  db: Db,
  domainIds: readonly string[],
): Promise<{ domainId: string; issuedAt: Date; chain: string; keySealed: Buffer }[]> {
  const { rows } = await sql<{ domainId: string; issuedAt: Date; chain: string; keySealed: Buffer }>`
    select domain_id as "domainId", issued_at as "issuedAt", chain_pem as chain, key_sealed as "keySealed"
    from svc.certificates where domain_id = any(${domainIds}) and chain_pem is not null`.execute(db);
  return rows;
}

export async function keepChallenge(
  db: Db,
  challenge: { token: string; text: string; host: string },
): Promise<void> {
  await sql`
    insert into svc.acme_challenges (token, text, host, expires_at)
    values (${challenge.token}, ${challenge.text}, ${challenge.host}, now() + interval '1 hour')
    on conflict (token) do update set text = excluded.text, expires_at = excluded.expires_at`.execute(db);
}

export async function findChallenge(db: Db, token: string): Promise<string | null> {
  const { rows } = await sql<{ text: string }>`
    select text from svc.acme_challenges where token = ${token} and expires_at > now()`.execute(db);
  return rows[0]?.text ?? null;
}

export async function forgetChallenges(db: Db): Promise<void> {
  await sql`delete from svc.acme_challenges where expires_at <= now()`.execute(db);
}
