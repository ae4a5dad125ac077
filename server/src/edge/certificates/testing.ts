import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import type { TenantAccess } from '../../core/context.ts';
import { rowsOnlyOutbox } from '../../core/outbox.ts';
import type {
  CertificateAuthority,
  CertificateOrder,
  IssuedCertificate,
} from '../../drivers/certificates/certificate-authority.ts';
import { placeholderCertificate } from '../../drivers/certificates/https-server.ts';
import { newTenant, newUser, silentLog, type TestDatabase, testEvents } from '../../testing.ts';
import { createOrderQueue } from './certificates.ts';

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
  const operator = () => ({ db, outbox: rowsOnlyOutbox, events: testEvents, log: silentLog });
  return createOrderQueue({ db, log: silentLog, authority, operator });
}

export type TestDomain = Awaited<ReturnType<typeof newDomain>>;

/** A domain with right records. */
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
