import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { platformTenantId } from '../../core/context.ts';
import { retireGenerations, rotateKey } from '../../core/key-rotation.ts';
import { runAsOperator } from '../../core/mutation.ts';
import { sealingKey, unseal } from '../../core/seal.ts';
import { OrderError } from '../../drivers/certificates/acme.ts';
import { newTenant, testDeps, useTestDatabase } from '../../testing.ts';
import { certificateKey, findCertificate, requestCertificate, rescheduleOrder } from './store.ts';
import {
  findRow,
  issuedNow,
  makeOnlyDue,
  newDomain,
  orderWith,
  testAuthority,
  testOrderQueue,
} from './testing.ts';

const database = useTestDatabase();

const limited = (retryAt: Date | null) => async () => {
  throw new OrderError('rate_limited', 'too many', retryAt);
};
const refused = async () => {
  throw new OrderError('challenge_failed', 'The host answers 404.');
};

test('a requested certificate is ordered and its key is sealed for its domain', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const issued = issuedNow();
  const authority = testAuthority(async () => issued);
  await orderWith(database, authority);
  const row = await findRow(database, domain);
  expect(authority.orders).toEqual([domain.host]);
  expect([row?.chain_pem, row?.failures]).toEqual([issued.chain, 0]);
  // A third of 90 days before the expiry, or up to a tenth of that earlier.
  expect(row!.wait).toBeLessThanOrEqual(60 * 24 * 60);
  expect(row!.wait).toBeGreaterThan(56 * 24 * 60);
  const sealed = row!.key_sealed!;
  expect(sealed.includes('PRIVATE KEY')).toBe(false);
  const key = await sealingKey(database.db, certificateKey);
  expect(unseal(key, { sealed, boundTo: domain.domainId })).toBe(issued.key);
  expect(() => unseal(key, { sealed, boundTo: Bun.randomUUIDv7() })).toThrow();
  const { rows } = await sql<{ action: string }>`
    select action from svc.audit_entries where tenant_id = ${domain.tenantId} and target_id = ${domain.domainId}`.execute(
    database.db,
  );
  expect(rows).toEqual([{ action: 'certificates.issue' }]);
  const due = await sql<{ due: boolean }>`
    select next_check_at <= now() as due from svc.domains where id = ${domain.domainId}`.execute(database.db);
  expect(due.rows).toEqual([{ due: true }]);
});

test('the key of a certificate is sealed again after a rotation', async () => {
  const { db } = database;
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const issued = issuedNow();
  await orderWith(
    database,
    testAuthority(async () => issued),
  );
  const deps = { db, ...testDeps, now: () => new Date() };
  const change = { name: 'keys.rotate', auditTenantId: platformTenantId };
  const { generation } = await runAsOperator(deps, change, (ctx) => rotateKey(ctx, certificateKey));
  await sql`update svc.key_generations set active_at = now() where name = ${certificateKey.name}`.execute(db);
  await retireGenerations(deps, [certificateKey]);
  const sealed = (await findRow(database, domain))!.key_sealed!;
  expect(sealed.readInt32BE()).toBe(generation);
  expect(unseal(await sealingKey(db, certificateKey), { sealed, boundTo: domain.domainId })).toBe(issued.key);
});

test('concurrent copies of the server order a certificate once', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const answer = Promise.withResolvers<void>();
  const authority = testAuthority(async () => {
    await answer.promise;
    return issuedNow();
  });
  const copies = Array.from({ length: 4 }, () => testOrderQueue(database, authority));
  for (const copy of [...copies, ...copies]) copy.wake();
  const last = testOrderQueue(database, authority);
  while (authority.orders.length === 0) await Bun.sleep(1);
  await requestCertificate(database.db, domain);
  last.wake();
  await last.idle();
  answer.resolve();
  await Promise.all(copies.map((copy) => copy.idle()));
  expect(authority.orders).toEqual([domain.host]);
  expect((await findRow(database, domain))?.chain_pem).not.toBeNull();
});

test('due orders run in parallel until none is left', async () => {
  const domains = await Promise.all(Array.from({ length: 7 }, () => newDomain(database)));
  for (const domain of domains) await makeOnlyDue(database, domain);
  for (const domain of domains)
    await sql`update svc.certificates set next_try_at = now() where domain_id = ${domain.domainId}`.execute(
      database.db,
    );
  let [atOnce, most] = [0, 0];
  const authority = testAuthority(async () => {
    most = Math.max(most, ++atOnce);
    await Bun.sleep(20);
    atOnce--;
    return issuedNow();
  });
  await orderWith(database, authority);
  expect(authority.orders.sort()).toEqual(domains.map(({ host }) => host).sort());
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(3);
});

test('a failed order is retried later, and a manual request cannot retry too soon', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const authority = testAuthority(refused);
  await orderWith(database, authority);
  expect(await findRow(database, domain)).toMatchObject({
    failures: 1,
    failure_reason: 'challenge_failed',
    wait: 1,
  });
  expect((await findCertificate(database.db, domain.domainId))?.failureText).toBe('The host answers 404.');
  await requestCertificate(database.db, domain);
  await orderWith(database, authority);
  expect(authority.orders).toHaveLength(1);
  // After the minimum delay a manual request is due at once.
  await sql`update svc.certificates set failures = 20, next_try_at = now() + interval '12 hours',
    tried_at = now() - interval '13 minutes' where domain_id = ${domain.domainId}`.execute(database.db);
  await requestCertificate(database.db, domain);
  expect((await findRow(database, domain))?.wait).toBe(0);
  authority.answer = async () => issuedNow();
  await orderWith(database, authority);
  expect(await findRow(database, domain)).toMatchObject({
    failures: 0,
    failure_reason: null,
    ordering_id: null,
  });
});

test('a retry time set by the authority also applies to manual requests', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const authority = testAuthority(limited(new Date(Date.now() + 5 * 3600_000)));
  await orderWith(database, authority);
  expect((await findRow(database, domain))?.wait).toBe(300);
  await sql`update svc.certificates set tried_at = now() - interval '1 hour'
    where domain_id = ${domain.domainId}`.execute(database.db);
  await requestCertificate(database.db, domain);
  expect((await findRow(database, domain))?.wait).toBe(300);
});

test('a rate limit stops orders of all hosts in all copies until it ends', async () => {
  const [first, other] = [await newDomain(database), await newDomain(database)];
  await makeOnlyDue(database, first);
  const authority = testAuthority(limited(new Date(Date.now() + 5 * 60_000)));
  await orderWith(database, authority);
  await requestCertificate(database.db, other);
  authority.answer = async () => issuedNow();
  await orderWith(database, authority);
  expect(authority.orders).toEqual([first.host]);
  // Another authority is not paused.
  const elsewhere = testAuthority(refused);
  await orderWith(database, elsewhere);
  expect(elsewhere.orders).toEqual([other.host]);
  await sql`update svc.certificates set next_try_at = now() where domain_id = ${other.domainId}`.execute(
    database.db,
  );
  await sql`update svc.acme_holds set held_until = now() where authority = ${authority.name}`.execute(
    database.db,
  );
  await orderWith(database, authority);
  expect(authority.orders).toEqual([first.host, other.host]);
});

test('a long rate limit of one host stops the other hosts for minutes only', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const authority = testAuthority(limited(new Date(Date.now() + 30 * 3600_000)));
  await orderWith(database, authority);
  const { rows } = await sql<{ wait: number }>`
    select round(extract(epoch from held_until - now()) / 60)::int as wait from svc.acme_holds
    where authority = ${authority.name}`.execute(database.db);
  expect([rows[0]?.wait, (await findRow(database, domain))?.wait]).toEqual([15, 1800]);
});

test('a tenant has one running order at a time', async () => {
  const { tenant } = await newTenant(database.db);
  const many = await Promise.all(Array.from({ length: 6 }, () => newDomain(database, { tenant })));
  const other = await newDomain(database);
  await makeOnlyDue(database, other);
  for (const domain of many) await requestCertificate(database.db, domain);
  await sql`update svc.certificates set next_try_at = now() - interval '1 minute'
    where tenant_id = ${tenant.id}`.execute(database.db);
  const isMany = new Set(many.map(({ host }) => host));
  const answer = Promise.withResolvers<void>();
  let [atOnce, most] = [0, 0];
  const authority = testAuthority(async ({ host }) => {
    if (isMany.has(host)) most = Math.max(most, ++atOnce);
    if (host === other.host) answer.resolve();
    await answer.promise;
    if (isMany.has(host)) atOnce--;
    return issuedNow();
  });
  const copies = Array.from({ length: 3 }, () => testOrderQueue(database, authority));
  for (const copy of [...copies, ...copies, ...copies]) copy.wake();
  await Promise.all(copies.map((copy) => copy.idle()));
  expect(most).toBe(1);
  expect(authority.orders.sort()).toEqual([other.host, ...isMany].sort());
});

test('a copy whose lease has expired changes nothing', async () => {
  const domain = await newDomain(database);
  const taken = Bun.randomUUIDv7();
  const ending = (end: () => Promise<ReturnType<typeof issuedNow>>) =>
    testAuthority(async () => {
      await sql`update svc.certificates set ordering_id = ${taken}, ordering_until = now() + interval '1 minute'
        where domain_id = ${domain.domainId}`.execute(database.db);
      return end();
    });
  const untouched = { chain_pem: null, failures: 0, failure_reason: null, wait: 0, ordering_id: taken };
  for (const end of [async () => issuedNow(), refused]) {
    await makeOnlyDue(database, domain);
    await sql`update svc.certificates set ordering_until = null, ordering_id = null
      where domain_id = ${domain.domainId}`.execute(database.db);
    await orderWith(database, ending(end));
    expect(await findRow(database, domain)).toMatchObject(untouched);
  }
  const mine = { ...domain, failures: 0, notAfter: null, orderingId: Bun.randomUUIDv7() };
  await rescheduleOrder(database.db, mine, new Date(Date.now() + 3600_000));
  expect(await findRow(database, domain)).toMatchObject(untouched);
});

test('a domain removed during its order leaves no certificate', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const authority = testAuthority(async () => {
    await sql`delete from svc.domains where id = ${domain.domainId}`.execute(database.db);
    return issuedNow();
  });
  await orderWith(database, authority);
  expect(await findRow(database, domain)).toBeUndefined();
});

test('an order of a copy that died is claimed again after its lease expires', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const lease = (interval: string) =>
    sql`update svc.certificates set ordering_id = gen_random_uuid(), ordering_until = now() + ${interval}::interval
      where domain_id = ${domain.domainId}`.execute(database.db);
  const authority = testAuthority();
  await lease('1 minute');
  await orderWith(database, authority);
  expect(authority.orders).toEqual([]);
  await lease('-1 second');
  await orderWith(database, authority);
  expect(authority.orders).toEqual([domain.host]);
});

test('a stopped copy reschedules its order', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(database, domain);
  const authority = testAuthority(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new OrderError('authority_unreachable', 'stopped')));
      }),
  );
  const orderQueue = testOrderQueue(database, authority);
  orderQueue.wake();
  while (authority.orders.length === 0) await Bun.sleep(1);
  await orderQueue.stop();
  expect(await findRow(database, domain)).toMatchObject({ failures: 0, wait: 0, ordering_id: null });
  orderQueue.wake();
  await orderWith(database, testAuthority());
  expect((await findRow(database, domain))?.chain_pem).not.toBeNull();
});

test('a due certificate is renewed, except for a disconnected domain', async () => {
  const [active, lost] = [
    await newDomain(database, { status: 'active' }),
    await newDomain(database, { status: 'disconnected' }),
  ];
  await makeOnlyDue(database, active);
  await orderWith(database);
  const before = await findRow(database, active);
  await makeOnlyDue(database, lost);
  await sql`update svc.certificates set next_try_at = now()
    where domain_id in (${active.domainId}, ${lost.domainId})`.execute(database.db);
  const authority = testAuthority();
  await orderWith(database, authority);
  expect(authority.orders).toEqual([active.host]);
  expect((await findRow(database, active))?.chain_pem).not.toBe(before!.chain_pem);
  expect(await findRow(database, lost)).toMatchObject({ chain_pem: null, failures: 0, wait: 60 });
  // A valid certificate is not ordered again.
  await requestCertificate(database.db, active);
  expect((await findRow(database, active))!.wait).toBeGreaterThan(1000);
});
