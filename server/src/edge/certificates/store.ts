import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import { declareSealingKey } from '../../core/keys.ts';
import type { OrderErrorReason } from '../../drivers/certificates/acme.ts';

const minute = 60_000;
/** Delay after the nth consecutive failure; the last one repeats. */
const waits = [1, 2, 5, 12, 30, 60, 120, 240, 480, 720].map((minutes) => minutes * minute);
/** Minimum delay of a manual retry. Authorities allow about five failures per host and hour. */
const manualRetryMs = 12 * minute;
const rateLimitedMs = 60 * minute;
/** A rate limit applies to the account or to the host, without saying which: one host blocks all others no longer than this. */
const pauseForAllMsMax = 15 * minute;

export function nextTryAt(order: {
  now: Date;
  failures: number;
  reason: OrderErrorReason;
  retryAt: Date | null;
  notAfter: Date | null;
}): { at: Date; pausedUntil: Date | null } {
  const now = order.now.getTime();
  const pausedUntil =
    order.retryAt ?? (order.reason === 'rate_limited' ? new Date(now + rateLimitedMs) : null);
  const wait = waits[Math.min(order.failures, waits.length) - 1] ?? minute;
  const left = order.notAfter ? order.notAfter.getTime() - now : 0;
  // A certificate that expires soon allows no long delays.
  const delayMax = left > 0 ? Math.max(minute, left / 4) : wait;
  const at = new Date(now + Math.min(wait, delayMax));
  return { at: pausedUntil && pausedUntil > at ? pausedUntil : at, pausedUntil };
}

export function pauseForAll(now: Date, pausedUntil: Date): Date {
  return new Date(Math.min(pausedUntil.getTime(), now.getTime() + pauseForAllMsMax));
}

/** With a third of the lifetime left, less up to a tenth of that: certificates issued together are not renewed together. */
export function renewAt(life: { notBefore: Date; notAfter: Date }, random: number): Date {
  const third = (life.notAfter.getTime() - life.notBefore.getTime()) / 3;
  return new Date(life.notAfter.getTime() - third * (1 + random / 10));
}

export const certificatesTag = 'certificates';

export const certificateKey = declareSealingKey({
  name: 'certificates.sealing_key',
  protects: 'Private keys of TLS certificates',
  columns: { 'certificates.key_sealed': 'domain_id::text' },
});

const leaseSeconds = 180;

export interface DueOrder {
  domainId: string;
  tenantId: string;
  host: string;
  failures: number;
  notAfter: Date | null;
  orderingId: string;
}

export async function requestCertificate(
  db: Db,
  domain: { tenantId: string; domainId: string; host: string },
): Promise<void> {
  await sql`
    insert into svc.certificates as c (domain_id, tenant_id, host, next_try_at)
    values (${domain.domainId}, ${domain.tenantId}, ${domain.host}, now())
    on conflict (domain_id) do update
    set next_try_at = least(c.next_try_at,
      greatest(now(), c.tried_at + make_interval(secs => ${manualRetryMs / 1000}), c.held_until))
    where c.tenant_id = ${domain.tenantId} and (c.not_after is null or c.not_after <= now())`.execute(db);
}

/** Claims a due order of a tenant that has no running order, unless the authority is paused. */
export async function claimDueOrder(db: Db, authority: string): Promise<DueOrder | null> {
  return await db.transaction().execute(async (tx) => {
    // Serialized: two concurrent claims could pick two orders of one tenant.
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

export async function pauseAuthority(db: Db, authority: string, until: Date): Promise<void> {
  await sql`
    insert into svc.acme_holds as h (authority, held_until) values (${authority}, ${until})
    on conflict (authority)
    do update set held_until = greatest(h.held_until, excluded.held_until)`.execute(db);
}

interface IssuedCertificateRow {
  chain: string;
  keySealed: Buffer;
  notBefore: Date;
  notAfter: Date;
  renewAt: Date;
}

const whereLeased = ({ tenantId, domainId, orderingId }: DueOrder) =>
  sql`where tenant_id = ${tenantId} and domain_id = ${domainId} and ordering_id = ${orderingId}`;

export async function saveIssued(tx: Tx, order: DueOrder, issued: IssuedCertificateRow): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.certificates
    set chain_pem = ${issued.chain}, key_sealed = ${issued.keySealed}, not_before = ${issued.notBefore},
      not_after = ${issued.notAfter}, issued_at = now(), next_try_at = ${issued.renewAt}, failures = 0,
      failure_reason = null, failure_text = null, held_until = null, ordering_until = null, ordering_id = null
    ${whereLeased(order)}`.execute(tx);
  return numAffectedRows === 1n;
}

export async function saveFailure(
  db: Db,
  order: DueOrder,
  failure: { reason: OrderErrorReason; text: string; nextTryAt: Date; pausedUntil: Date | null },
): Promise<void> {
  await sql`
    update svc.certificates
    set failures = failures + 1, failure_reason = ${failure.reason}, failure_text = ${failure.text},
      next_try_at = ${failure.nextTryAt}, held_until = ${failure.pausedUntil}, ordering_until = null, ordering_id = null
    ${whereLeased(order)}`.execute(db);
}

export async function rescheduleOrder(db: Db, order: DueOrder, at: Date): Promise<void> {
  await sql`
    update svc.certificates set next_try_at = ${at}, tried_at = null, ordering_until = null, ordering_id = null
    ${whereLeased(order)}`.execute(db);
}

export interface CertificateRow {
  notAfter: Date | null;
  isOrdering: boolean;
  nextTryAt: Date;
  failureReason: OrderErrorReason | null;
  failureText: string | null;
  isExpired: boolean;
}

export async function findCertificate(db: Db, domainId: string): Promise<CertificateRow | null> {
  const { rows } = await sql<CertificateRow>`
    select not_after as "notAfter", coalesce(ordering_until > now(), false) as "isOrdering",
      next_try_at as "nextTryAt", failure_reason as "failureReason", failure_text as "failureText",
      coalesce(not_after <= now(), false) as "isExpired"
    from svc.certificates where domain_id = ${domainId}`.execute(db);
  return rows[0] ?? null;
}

interface StoredCertificate {
  domainId: string;
  host: string;
  issuedAt: Date;
}

export async function listStoredCertificates(db: Db): Promise<StoredCertificate[]> {
  const { rows } = await sql<StoredCertificate>`
    select domain_id as "domainId", host, issued_at as "issuedAt" from svc.certificates
    where not_after > now() order by issued_at`.execute(db);
  return rows;
}

export async function readStoredCertificates(db: Db, domainIds: readonly string[]) {
  const { rows } = await sql<Omit<StoredCertificate, 'host'> & { chain: string; keySealed: Buffer }>`
    select domain_id as "domainId", issued_at as "issuedAt", chain_pem as chain, key_sealed as "keySealed"
    from svc.certificates where domain_id = any(${domainIds}) and chain_pem is not null`.execute(db);
  return rows;
}

export async function saveChallenge(db: Db, challenge: { token: string; text: string; host: string }) {
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

export async function deleteExpiredChallenges(db: Db): Promise<void> {
  await sql`delete from svc.acme_challenges where expires_at <= now()`.execute(db);
}
