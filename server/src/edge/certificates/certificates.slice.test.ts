import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { platformTenantId } from '../../core/context.ts';
import { retireGenerations, rotateKey } from '../../core/key-rotation.ts';
import { runAsOperator } from '../../core/mutation.ts';
import { rowsOnlyOutbox } from '../../core/outbox.ts';
import { sealingKey, unseal } from '../../core/seal.ts';
import { OrderError } from '../../drivers/certificates/certificate-authority.ts';
import type { HostCertificate } from '../../http/https-listener.ts';
import { newTenant, silentLog, testEvents, useTestDatabase } from '../../testing.ts';
import { createChallengeLookup } from './challenge.ts';
import { certificateKey } from './rules.ts';
import { createCertificateLoader, syncCertificates } from './served-certificates.ts';
import {
  deleteExpiredChallenges,
  findCertificate,
  requestCertificate,
  rescheduleOrder,
  saveChallenge,
} from './store.ts';
import { issuedNow, newDomain, type TestDomain, testAuthority, testOrderQueue } from './testing.ts';

const database = useTestDatabase();

/** Requests a certificate for the domain and postpones all other orders: the queue is global. */
async function makeOnlyDue(domain: TestDomain): Promise<void> {
  await sql`update svc.certificates set next_try_at = now() + interval '1 year'
    where domain_id <> ${domain.domainId}`.execute(database.db);
  await requestCertificate(database.db, domain);
}

async function rowOf({ domainId }: TestDomain) {
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
    from svc.certificates where domain_id = ${domainId}`.execute(database.db);
  return rows[0];
}

async function orderWith(authority = testAuthority()): Promise<void> {
  const orderQueue = testOrderQueue(database, authority);
  orderQueue.wake();
  await orderQueue.idle();
}

const limited = (retryAt: Date | null) => async () => {
  throw new OrderError('rate_limited', 'too many', retryAt);
};
const refused = async () => {
  throw new OrderError('challenge_failed', 'The host says 404.');
};

test('a requested certificate is ordered and its key is sealed for its domain', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(domain);
  const issued = issuedNow();
  const authority = testAuthority(async () => issued);
  await orderWith(authority);
  const row = await rowOf(domain);
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
  await makeOnlyDue(domain);
  const issued = issuedNow();
  await orderWith(testAuthority(async () => issued));
  const deps = { db, outbox: rowsOnlyOutbox, log: silentLog, events: testEvents, now: () => new Date() };
  const change = { name: 'keys.rotate', auditTenantId: platformTenantId };
  const { generation } = await runAsOperator(deps, change, (ctx) => rotateKey(ctx, certificateKey));
  await sql`update svc.key_generations set active_at = now() where name = ${certificateKey.name}`.execute(db);
  await retireGenerations(deps, [certificateKey]);
  const sealed = (await rowOf(domain))!.key_sealed!;
  expect(sealed.readInt32BE()).toBe(generation);
  expect(unseal(await sealingKey(db, certificateKey), { sealed, boundTo: domain.domainId })).toBe(issued.key);
});

test('concurrent copies of the server order a certificate once', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(domain);
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
  expect((await rowOf(domain))?.chain_pem).not.toBeNull();
});

test('due orders run in parallel until none is left', async () => {
  const domains = await Promise.all(Array.from({ length: 7 }, () => newDomain(database)));
  for (const domain of domains) await makeOnlyDue(domain);
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
  await orderWith(authority);
  expect(authority.orders.sort()).toEqual(domains.map(({ host }) => host).sort());
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(3);
});

test('a failed order is retried later, and a manual request cannot retry too soon', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(domain);
  const authority = testAuthority(refused);
  await orderWith(authority);
  expect(await rowOf(domain)).toMatchObject({ failures: 1, failure_reason: 'challenge_failed', wait: 1 });
  expect((await findCertificate(database.db, domain.domainId))?.failureText).toBe('The host says 404.');
  await requestCertificate(database.db, domain);
  await orderWith(authority);
  expect(authority.orders).toHaveLength(1);
  // After the minimum delay a manual request is due at once.
  await sql`update svc.certificates set failures = 20, next_try_at = now() + interval '12 hours',
    tried_at = now() - interval '13 minutes' where domain_id = ${domain.domainId}`.execute(database.db);
  await requestCertificate(database.db, domain);
  expect((await rowOf(domain))?.wait).toBe(0);
  authority.answer = async () => issuedNow();
  await orderWith(authority);
  expect(await rowOf(domain)).toMatchObject({ failures: 0, failure_reason: null, ordering_id: null });
});

test('a retry time set by the authority also applies to manual requests', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(domain);
  const authority = testAuthority(limited(new Date(Date.now() + 5 * 3600_000)));
  await orderWith(authority);
  expect((await rowOf(domain))?.wait).toBe(300);
  await sql`update svc.certificates set tried_at = now() - interval '1 hour'
    where domain_id = ${domain.domainId}`.execute(database.db);
  await requestCertificate(database.db, domain);
  expect((await rowOf(domain))?.wait).toBe(300);
});

test('a rate limit stops orders of all hosts in all copies until it ends', async () => {
  const [first, other] = [await newDomain(database), await newDomain(database)];
  await makeOnlyDue(first);
  const authority = testAuthority(limited(new Date(Date.now() + 5 * 60_000)));
  await orderWith(authority);
  await requestCertificate(database.db, other);
  authority.answer = async () => issuedNow();
  await orderWith(authority);
  expect(authority.orders).toEqual([first.host]);
  // Another authority is not paused.
  const elsewhere = testAuthority(refused);
  await orderWith(elsewhere);
  expect(elsewhere.orders).toEqual([other.host]);
  await sql`update svc.certificates set next_try_at = now() where domain_id = ${other.domainId}`.execute(
    database.db,
  );
  await sql`update svc.acme_holds set held_until = now() where authority = ${authority.name}`.execute(
    database.db,
  );
  await orderWith(authority);
  expect(authority.orders).toEqual([first.host, other.host]);
});

test('a long rate limit of one host stops the other hosts for minutes only', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(domain);
  const authority = testAuthority(limited(new Date(Date.now() + 30 * 3600_000)));
  await orderWith(authority);
  const { rows } = await sql<{ wait: number }>`
    select round(extract(epoch from held_until - now()) / 60)::int as wait from svc.acme_holds
    where authority = ${authority.name}`.execute(database.db);
  expect([rows[0]?.wait, (await rowOf(domain))?.wait]).toEqual([15, 1800]);
});

test('a tenant has one running order at a time', async () => {
  const { tenant } = await newTenant(database.db);
  const many = await Promise.all(Array.from({ length: 6 }, () => newDomain(database, { tenant })));
  const other = await newDomain(database);
  await makeOnlyDue(other);
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
    await makeOnlyDue(domain);
    await sql`update svc.certificates set ordering_until = null, ordering_id = null
      where domain_id = ${domain.domainId}`.execute(database.db);
    await orderWith(ending(end));
    expect(await rowOf(domain)).toMatchObject(untouched);
  }
  const mine = { ...domain, failures: 0, notAfter: null, orderingId: Bun.randomUUIDv7() };
  await rescheduleOrder(database.db, mine, new Date(Date.now() + 3600_000));
  expect(await rowOf(domain)).toMatchObject(untouched);
});

test('a domain removed during its order leaves no certificate', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(domain);
  const authority = testAuthority(async () => {
    await sql`delete from svc.domains where id = ${domain.domainId}`.execute(database.db);
    return issuedNow();
  });
  await orderWith(authority);
  expect(await rowOf(domain)).toBeUndefined();
});

test('an order of a copy that died is claimed again after its lease expires', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(domain);
  const lease = (interval: string) =>
    sql`update svc.certificates set ordering_id = gen_random_uuid(), ordering_until = now() + ${interval}::interval
      where domain_id = ${domain.domainId}`.execute(database.db);
  const authority = testAuthority();
  await lease('1 minute');
  await orderWith(authority);
  expect(authority.orders).toEqual([]);
  await lease('-1 second');
  await orderWith(authority);
  expect(authority.orders).toEqual([domain.host]);
});

test('a stopped copy reschedules its order', async () => {
  const domain = await newDomain(database);
  await makeOnlyDue(domain);
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
  expect(await rowOf(domain)).toMatchObject({ failures: 0, wait: 0, ordering_id: null });
  orderQueue.wake();
  await orderWith(testAuthority());
  expect((await rowOf(domain))?.chain_pem).not.toBeNull();
});

test('a due certificate is renewed, except for a disconnected domain', async () => {
  const [active, lost] = [
    await newDomain(database, { status: 'active' }),
    await newDomain(database, { status: 'disconnected' }),
  ];
  await makeOnlyDue(active);
  await orderWith();
  const before = await rowOf(active);
  await makeOnlyDue(lost);
  await sql`update svc.certificates set next_try_at = now()
    where domain_id in (${active.domainId}, ${lost.domainId})`.execute(database.db);
  const authority = testAuthority();
  await orderWith(authority);
  expect(authority.orders).toEqual([active.host]);
  expect((await rowOf(active))?.chain_pem).not.toBe(before!.chain_pem);
  expect(await rowOf(lost)).toMatchObject({ chain_pem: null, failures: 0, wait: 60 });
  // A valid certificate is not ordered again.
  await requestCertificate(database.db, active);
  expect((await rowOf(active))!.wait).toBeGreaterThan(1000);
});

test('any copy answers a challenge until it expires, and invalid tokens are not looked up', async () => {
  const token = Bun.randomUUIDv7();
  const answer = createChallengeLookup(database);
  expect(await answer(token)).toBeNull();
  await saveChallenge(database.db, { token, text: `${token}.thumb`, host: 'www.example.test' });
  expect(await answer(token)).toBe(`${token}.thumb`);
  for (const odd of ['', 'short', `${token}/..`, `${token}%00`, 'a'.repeat(1000), `${token}'`])
    expect(await answer(odd)).toBeNull();
  await sql`update svc.acme_challenges set expires_at = now() where token = ${token}`.execute(database.db);
  expect(await answer(token)).toBeNull();
  await deleteExpiredChallenges(database.db);
  const left = await sql`select from svc.acme_challenges where token = ${token}`.execute(database.db);
  expect(left.rows).toEqual([]);
});

test('the loader returns the unexpired certificates of active hosts', async () => {
  const [shown, waiting] = [
    await newDomain(database, { status: 'active' }),
    await newDomain(database, { status: 'pending' }),
  ];
  const before = await newDomain(database, { host: shown.host, status: 'disconnected' });
  const old = issuedNow();
  await makeOnlyDue(before);
  await sql`update svc.domains set status = 'pending' where id = ${before.domainId}`.execute(database.db);
  await orderWith(testAuthority(async () => old));
  await sql`update svc.domains set status = 'disconnected' where id = ${before.domainId}`.execute(
    database.db,
  );
  for (const domain of [shown, waiting]) {
    await makeOnlyDue(domain);
    await orderWith();
  }
  const load = createCertificateLoader({ db: database.db, log: silentLog });
  const find = async (host: string) => (await load()).filter(({ serverName }) => serverName === host);
  const fresh = (await rowOf(shown))!.chain_pem!;
  expect((await find(shown.host)).map(({ cert }) => cert)).toEqual([fresh]);
  expect(await find(shown.host)).toEqual(await find(shown.host));
  expect(await find(waiting.host)).toEqual([]);
  await sql`update svc.domains set status = 'active' where id = ${waiting.domainId}`.execute(database.db);
  expect(await find(waiting.host)).toHaveLength(1);
  await sql`delete from svc.domains where id = ${waiting.domainId}`.execute(database.db);
  expect(await find(waiting.host)).toEqual([]);
});

test('an unusable certificate does not prevent the others from being served', async () => {
  const [good, bad] = [
    await newDomain(database, { status: 'active' }),
    await newDomain(database, { status: 'active' }),
  ];
  for (const domain of [good, bad]) {
    await makeOnlyDue(domain);
    await orderWith();
  }
  await sql`update svc.certificates set key_sealed = (select key_sealed from svc.certificates
      where domain_id = ${good.domainId}) where domain_id = ${bad.domainId}`.execute(database.db);
  const hosts = (await createCertificateLoader({ db: database.db, log: silentLog })()).map(
    ({ serverName }) => serverName,
  );
  expect([hosts.includes(good.host), hosts.includes(bad.host)]).toEqual([true, false]);
});

test('the listener receives changes and recovers from a failure', async () => {
  let tell: (tag: string | null) => void = () => {};
  const shown: string[][] = [];
  let list: (() => Promise<HostCertificate[]>) | null = null;
  const following = await syncCertificates({
    listener: {
      readOwn: () => ({ cert: 'own', key: 'own' }),
      setCertificates: (certificates) => void shown.push(certificates.map(({ serverName }) => serverName)),
    },
    load: async () => list?.() ?? [],
    invalidation: {
      onChange: (listener) => {
        tell = listener;
      },
    },
    log: silentLog,
    batchMs: 1,
  });
  expect(shown).toEqual([[]]);
  const one = { serverName: 'one.test', cert: '', key: '' };
  const until = async (count: number) => {
    while (shown.length < count) await Bun.sleep(1);
  };
  list = async () => [one];
  tell('certificates');
  await until(2);
  const asked = Promise.withResolvers<void>();
  list = async () => {
    asked.resolve();
    throw new Error('no database');
  };
  tell('domains');
  await asked.promise;
  list = async () => [];
  tell(null);
  await until(3);
  following.stop();
  tell('certificates');
  expect(shown).toEqual([[], ['one.test'], []]);
});

test('renewals are batched, and added or removed hosts are applied at once', async () => {
  let tell: (tag: string | null) => void = () => {};
  const shown: string[][] = [];
  const newOf = (serverName: string) => ({ serverName, cert: Bun.randomUUIDv7(), key: '' });
  let list = [newOf('one.test'), newOf('two.test')];
  const names = () => list.map(({ cert }) => cert);
  let loads = 0;
  const followed = async (batchMs: number) =>
    syncCertificates({
      listener: {
        readOwn: () => ({ cert: 'own', key: 'own' }),
        setCertificates: (certificates) => void shown.push(certificates.map(({ cert }) => cert)),
      },
      load: async () => {
        loads++;
        return list;
      },
      invalidation: {
        onChange: (listener) => {
          tell = listener;
        },
      },
      log: silentLog,
      batchMs,
    });
  const renew = async (name: string) => {
    list = list.map((item) => (item.serverName === name ? newOf(name) : item));
    const before = loads;
    tell('certificates');
    while (loads === before) await Bun.sleep(1);
  };
  const long = await followed(60_000);
  const first = names();
  for (const name of ['one.test', 'two.test']) await renew(name);
  expect(shown).toEqual([first]);
  list = [...list, newOf('three.test')];
  tell('certificates');
  while (shown.length < 2) await Bun.sleep(1);
  expect(shown.at(-1)).toEqual(names());
  list = list.filter(({ serverName }) => serverName !== 'one.test');
  tell('domains');
  while (shown.length < 3) await Bun.sleep(1);
  expect(shown.at(-1)).toEqual(names());
  long.stop();
  const short = await followed(300);
  shown.length = 0;
  for (const name of ['two.test', 'three.test']) await renew(name);
  while (shown.length === 0) await Bun.sleep(1);
  expect(shown).toEqual([names()]);
  short.stop();
});
