import { sql } from 'kysely';
import { newApp } from '../apps/testing.ts';
import type {
  CertificateAuthority,
  CertificateOrder,
  IssuedCertificate,
} from '../drivers/certificates/certificate-authority.ts';
import { placeholderCertificate } from '../drivers/certificates/placeholder-certificate.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { newTenant, newUser, silentLog, type TestDatabase, type TestTenant } from '../testing.ts';
import { createOrdering } from './create-ordering.ts';

const day = 86_400_000;

/** A certificate for nothing, with the key that fits it; good for 90 days. */
export function issuedNow(): IssuedCertificate {
  const { cert, key } = placeholderCertificate();
  return { chain: cert, key, notBefore: new Date(), notAfter: new Date(Date.now() + 90 * day) };
}

/** Does as the test says; the real one has tests of its own. */
export interface TestAuthority extends CertificateAuthority {
  orders: string[];
  answer: (order: CertificateOrder) => Promise<IssuedCertificate>;
}

export function testAuthority(answer: TestAuthority['answer'] = async () => issuedNow()): TestAuthority {
  const authority: TestAuthority = {
    name: Bun.randomUUIDv7(),
    orders: [],
    answer,
    check: async () => {},
    order: async (order) => {
      authority.orders.push(order.host);
      return authority.answer(order);
    },
  };
  return authority;
}

export function testOrdering({ db }: TestDatabase, authority: CertificateAuthority) {
  const operator = () => ({ db, outbox: rowsOnly, log: silentLog });
  return createOrdering({ db, log: silentLog, authority, operator });
}

export interface TestDomain {
  domainId: string;
  tenantId: string;
  host: string;
}

/** With its name servers as they should be. */
export async function newDomain(
  { db }: TestDatabase,
  set: { host?: string; status?: 'pending' | 'active' | 'disconnected'; tenant?: TestTenant['tenant'] } = {},
): Promise<TestDomain> {
  const tenant = set.tenant ?? (await newTenant(db)).tenant;
  const owner = await newUser(db, tenant.id);
  const app = await newApp(db, tenant, owner);
  const domainId = Bun.randomUUIDv7();
  const host = set.host ?? `${domainId}.example.test`;
  await sql`insert into svc.domains (id, app_id, tenant_id, host, token, status, ownership, routing, certificate,
      created_by, created_at, pending_since)
    values (${domainId}, ${app.id}, ${tenant.id}, ${host}, 'token', ${set.status ?? 'pending'}, '{}', '{}', '{}',
      ${owner.userId}, now(), now())`.execute(db);
  return { domainId, tenantId: tenant.id, host };
}
