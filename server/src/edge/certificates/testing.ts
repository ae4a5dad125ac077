import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import type { TenantAccess } from '../../core/context.ts';
import type {
  CertificateAuthority,
  CertificateOrder,
  IssuedCertificate,
} from '../../drivers/certificates/acme.ts';
import { placeholderCertificate } from '../../drivers/certificates/https-server.ts';
import { newTenant, newUser, silentLog, type TestDatabase, testDeps } from '../../testing.ts';
import { createOrderQueue } from './certificates.ts';
import { requestCertificate } from './store.ts';

/** A self-signed certificate with its key, valid for 90 days. */
export function issuedNow(): IssuedCertificate {
  const { cert, key } = placeholderCertificate();
  return { chain: cert, key, notBefore: new Date(), notAfter: new Date(Date.now() + 90 * 86_400_000) };
}

/** An authority in memory. The ACME driver has tests of its own. */
export function testAuthority(answer: CertificateAuthority['order'] = async () => issuedNow()) {
  const authority = {
    name: Bun.randomUUIDv7(),
    orders: [] as string[],
    answer,
    check: async () => {},
    order(order: CertificateOrder): Promise<IssuedCertificate> {
      authority.orders.push(order.host);
      return authority.answer(order);
    },
  };
  return authority;
}

export function testOrderQueue({ db }: TestDatabase, authority: CertificateAuthority) {
  const operator = () => ({ db, ...testDeps });
  return createOrderQueue({ db, log: silentLog, authority, operator });
}

export type TestDomain = Awaited<ReturnType<typeof newDomain>>;

export async function newDomain(
  { db }: TestDatabase,
  set: { host?: string; status?: 'pending' | 'active' | 'disconnected'; tenant?: TenantAccess } = {},
) {
  const { status = 'pending', tenant = (await newTenant(db)).tenant } = set;
  const owner = await newUser(db, tenant.id);
  const app = await newApp(db, tenant, owner);
  const domainId = Bun.randomUUIDv7();
  const host = set.host ?? `${domainId}.example.test`;
  await sql`insert into svc.domains (id, app_id, tenant_id, host, token, status, ownership, routing, certificate,
      created_by, created_at, pending_since)
    values (${domainId}, ${app.id}, ${tenant.id}, ${host}, 'token', ${status}, '{}', '{}', '{}',
      ${owner.userId}, now(), now())`.execute(db);
  return { domainId, tenantId: tenant.id, host };
}

export async function orderWith(database: TestDatabase, authority = testAuthority()): Promise<void> {
  const orderQueue = testOrderQueue(database, authority);
  orderQueue.wake();
  await orderQueue.idle();
}

/** Requests a certificate for the domain and postpones all other orders: the queue is global. */
export async function makeOnlyDue({ db }: TestDatabase, domain: TestDomain): Promise<void> {
  await sql`update svc.certificates set next_try_at = now() + interval '1 year'
    where domain_id <> ${domain.domainId}`.execute(db);
  await requestCertificate(db, domain);
}

export async function findRow({ db }: TestDatabase, { domainId }: TestDomain) {
  const { rows } = await sql<{
    chain_pem: string | null;
    key_sealed: Buffer | null;
    failures: number;
    failure_reason: string | null;
    /** In minutes from now. */
    wait: number;
    ordering_id: string | null;
  }>`select chain_pem, key_sealed, failures, failure_reason, ordering_id,
      round(extract(epoch from next_try_at - now()) / 60)::int as wait
    from svc.certificates where domain_id = ${domainId}`.execute(db);
  return rows[0];
}
