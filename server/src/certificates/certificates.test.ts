import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { sql } from 'kysely';
import { OrderFailure } from '../drivers/certificates/certificate-authority.ts';
import type { HostCertificate } from '../plumbing/https-listener.ts';
import { sealingKey, unseal } from '../plumbing/seal.ts';
import { newTenant, silentLog, type TestDatabase, testDatabase } from '../testing.ts';
import { createChallengeAnswer } from './challenge-answer.ts';
import { followCertificates } from './follow-certificates.ts';
import { createServedCertificates } from './served-certificates.ts';
import { findCertificate, forgetChallenges, keepChallenge, putBack, wantCertificate } from './store.ts';
import { sealingKeyName } from './tag.ts';
import { issuedNow, newDomain, type TestDomain, testAuthority, testOrdering } from './testing.ts';

setDefaultTimeout(30_000);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

/** Each test looks for what is due in the whole database: there must be nothing else. */
async function wanted(domain: TestDomain): Promise<void> {
  await sql`update svc.certificates set next_try_at = now() + interval '1 year'
    where domain_id <> ${domain.domainId}`.execute(database.db);
  await wantCertificate(database.db, domain);
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
  const ordering = testOrdering(database, authority);
  ordering.wake();
  await ordering.idle();
}

const limited = (retryAt: Date | null) => async () => {
  throw new OrderFailure('rate_limited', 'too many', retryAt);
};
const refused = async () => {
  throw new OrderFailure('challenge_failed', 'The host says 404.');
};

test('what is wanted is ordered, and its key is kept sealed for its domain alone', async () => {
  const domain = await newDomain(database);
  await wanted(domain);
  const issued = issuedNow();
  const authority = testAuthority(async () => issued);
  await orderWith(authority);
  const row = await rowOf(domain);
  expect(authority.orders).toEqual([domain.host]);
  expect([row?.chain_pem, row?.failures]).toEqual([issued.chain, 0]);
  // A third of 90 days before its end, or somewhat sooner.
  expect(row!.wait).toBeLessThanOrEqual(60 * 24 * 60);
  expect(row!.wait).toBeGreaterThan(56 * 24 * 60);
  const sealed = row!.key_sealed!;
  expect(sealed.includes('PRIVATE KEY')).toBe(false);
  const key = await sealingKey(database.db, sealingKeyName);
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

test('copies of the server that look at the same time order once', async () => {
  const domain = await newDomain(database);
  await wanted(domain);
  const answer = Promise.withResolvers<void>();
  const authority = testAuthority(async () => {
    await answer.promise;
    return issuedNow();
  });
  const copies = Array.from({ length: 4 }, () => testOrdering(database, authority));
  for (const copy of [...copies, ...copies]) copy.wake();
  const last = testOrdering(database, authority);
  while (authority.orders.length === 0) await Bun.sleep(1);
  await wantCertificate(database.db, domain);
  last.wake();
  await last.idle();
  answer.resolve();
  await Promise.all(copies.map((copy) => copy.idle()));
  expect(authority.orders).toEqual([domain.host]);
  expect((await rowOf(domain))?.chain_pem).not.toBeNull();
});

test('several are ordered at the same time, and all of them', async () => {
  const domains = await Promise.all(Array.from({ length: 7 }, () => newDomain(database)));
  for (const domain of domains) await wanted(domain);
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

test('a failure is told and tried again later; who asks meanwhile does not hurry it beyond measure', async () => {
  const domain = await newDomain(database);
  await wanted(domain);
  const authority = testAuthority(refused);
  await orderWith(authority);
  expect(await rowOf(domain)).toMatchObject({ failures: 1, failure_reason: 'challenge_failed', wait: 1 });
  expect((await findCertificate(database.db, domain.domainId))?.failureText).toBe('The host says 404.');
  await wantCertificate(database.db, domain);
  await orderWith(authority);
  expect(authority.orders).toHaveLength(1);
  // Long after: the next try would be in twelve hours, and whoever asks gets one at once.
  await sql`update svc.certificates set failures = 20, next_try_at = now() + interval '12 hours',
    tried_at = now() - interval '13 minutes' where domain_id = ${domain.domainId}`.execute(database.db);
  await wantCertificate(database.db, domain);
  expect((await rowOf(domain))?.wait).toBe(0);
  authority.answer = async () => issuedNow();
  await orderWith(authority);
  expect(await rowOf(domain)).toMatchObject({ failures: 0, failure_reason: null, ordering_id: null });
});

test('an authority that wants to be left alone is, whoever asks', async () => {
  const domain = await newDomain(database);
  await wanted(domain);
  const authority = testAuthority(limited(new Date(Date.now() + 5 * 3600_000)));
  await orderWith(authority);
  expect((await rowOf(domain))?.wait).toBe(300);
  await sql`update svc.certificates set tried_at = now() - interval '1 hour'
    where domain_id = ${domain.domainId}`.execute(database.db);
  await wantCertificate(database.db, domain);
  expect((await rowOf(domain))?.wait).toBe(300);
});

test('one that is asked too often is asked by nobody else either, in no copy, until it may be again', async () => {
  const [first, other] = [await newDomain(database), await newDomain(database)];
  await wanted(first);
  const authority = testAuthority(limited(new Date(Date.now() + 5 * 60_000)));
  await orderWith(authority);
  await wantCertificate(database.db, other);
  authority.answer = async () => issuedNow();
  await orderWith(authority);
  expect(authority.orders).toEqual([first.host]);
  // Another authority has not said so.
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

test('a host that an authority does not want to hear of for days holds the others for minutes only', async () => {
  const domain = await newDomain(database);
  await wanted(domain);
  const authority = testAuthority(limited(new Date(Date.now() + 30 * 3600_000)));
  await orderWith(authority);
  const { rows } = await sql<{ wait: number }>`
    select round(extract(epoch from held_until - now()) / 60)::int as wait from svc.acme_holds
    where authority = ${authority.name}`.execute(database.db);
  expect([rows[0]?.wait, (await rowOf(domain))?.wait]).toEqual([15, 1800]);
});

test('of one tenant one order is under way at a time, so that others have theirs', async () => {
  const { tenant } = await newTenant(database.db);
  const many = await Promise.all(Array.from({ length: 6 }, () => newDomain(database, { tenant })));
  const other = await newDomain(database);
  await wanted(other);
  for (const domain of many) await wantCertificate(database.db, domain);
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
  const copies = Array.from({ length: 3 }, () => testOrdering(database, authority));
  for (const copy of [...copies, ...copies, ...copies]) copy.wake();
  await Promise.all(copies.map((copy) => copy.idle()));
  expect(most).toBe(1);
  expect(authority.orders.sort()).toEqual([other.host, ...isMany].sort());
});

test('a copy whose time was over before it ended changes nothing of what another has taken over', async () => {
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
    await wanted(domain);
    await sql`update svc.certificates set ordering_until = null, ordering_id = null
      where domain_id = ${domain.domainId}`.execute(database.db);
    await orderWith(ending(end));
    expect(await rowOf(domain)).toMatchObject(untouched);
  }
  const mine = { ...domain, failures: 0, notAfter: null, orderingId: Bun.randomUUIDv7() };
  await putBack(database.db, mine, new Date(Date.now() + 3600_000));
  expect(await rowOf(domain)).toMatchObject(untouched);
});

test('a domain that is removed while its certificate is ordered leaves nothing', async () => {
  const domain = await newDomain(database);
  await wanted(domain);
  const authority = testAuthority(async () => {
    await sql`delete from svc.domains where id = ${domain.domainId}`.execute(database.db);
    return issuedNow();
  });
  await orderWith(authority);
  expect(await rowOf(domain)).toBeUndefined();
});

test('what a copy that died had begun is taken up when its time is over, not before', async () => {
  const domain = await newDomain(database);
  await wanted(domain);
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

test('a copy that is stopped puts its order back for the next one', async () => {
  const domain = await newDomain(database);
  await wanted(domain);
  const authority = testAuthority(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new OrderFailure('authority_unreachable', 'stopped')));
      }),
  );
  const ordering = testOrdering(database, authority);
  ordering.wake();
  while (authority.orders.length === 0) await Bun.sleep(1);
  await ordering.stop();
  expect(await rowOf(domain)).toMatchObject({ failures: 0, wait: 0, ordering_id: null });
  ordering.wake();
  await orderWith(testAuthority());
  expect((await rowOf(domain))?.chain_pem).not.toBeNull();
});

test('a certificate that is due is replaced; that of a disconnected domain is not', async () => {
  const [active, lost] = [
    await newDomain(database, { status: 'active' }),
    await newDomain(database, { status: 'disconnected' }),
  ];
  await wanted(active);
  await orderWith();
  const before = await rowOf(active);
  await wanted(lost);
  await sql`update svc.certificates set next_try_at = now()
    where domain_id in (${active.domainId}, ${lost.domainId})`.execute(database.db);
  const authority = testAuthority();
  await orderWith(authority);
  expect(authority.orders).toEqual([active.host]);
  expect((await rowOf(active))?.chain_pem).not.toBe(before!.chain_pem);
  expect(await rowOf(lost)).toMatchObject({ chain_pem: null, failures: 0, wait: 60 });
  // Nobody wants another while there is one.
  await wantCertificate(database.db, active);
  expect((await rowOf(active))!.wait).toBeGreaterThan(1000);
});

test('a challenge is answered by any copy while it counts, and what can be no token is not looked up', async () => {
  const token = Bun.randomUUIDv7();
  const answer = createChallengeAnswer(database);
  expect(await answer(token)).toBeNull();
  await keepChallenge(database.db, { token, text: `${token}.thumb`, host: 'www.example.test' });
  expect(await answer(token)).toBe(`${token}.thumb`);
  for (const odd of ['', 'short', `${token}/..`, `${token}%00`, 'a'.repeat(1000), `${token}'`])
    expect(await answer(odd)).toBeNull();
  await sql`update svc.acme_challenges set expires_at = now() where token = ${token}`.execute(database.db);
  expect(await answer(token)).toBeNull();
  await forgetChallenges(database.db);
  const left = await sql`select from svc.acme_challenges where token = ${token}`.execute(database.db);
  expect(left.rows).toEqual([]);
});

test('what is shown are the certificates of active hosts, as long as each is there', async () => {
  const [shown, waiting] = [
    await newDomain(database, { status: 'active' }),
    await newDomain(database, { status: 'pending' }),
  ];
  const before = await newDomain(database, { host: shown.host, status: 'disconnected' });
  const old = issuedNow();
  await wanted(before);
  await sql`update svc.domains set status = 'pending' where id = ${before.domainId}`.execute(database.db);
  await orderWith(testAuthority(async () => old));
  await sql`update svc.domains set status = 'disconnected' where id = ${before.domainId}`.execute(
    database.db,
  );
  for (const domain of [shown, waiting]) {
    await wanted(domain);
    await orderWith();
  }
  const load = createServedCertificates({ db: database.db, log: silentLog });
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

test('one that can not be opened does not keep the others from being shown', async () => {
  const [good, bad] = [
    await newDomain(database, { status: 'active' }),
    await newDomain(database, { status: 'active' }),
  ];
  for (const domain of [good, bad]) {
    await wanted(domain);
    await orderWith();
  }
  await sql`update svc.certificates set key_sealed = (select key_sealed from svc.certificates
      where domain_id = ${good.domainId}) where domain_id = ${bad.domainId}`.execute(database.db);
  const hosts = (await createServedCertificates({ db: database.db, log: silentLog })()).map(
    ({ serverName }) => serverName,
  );
  expect([hosts.includes(good.host), hosts.includes(bad.host)]).toEqual([true, false]);
});

test('a listener is told of what changed, and goes on after a failure', async () => {
  let tell: (tag: string | null) => void = () => {};
  const shown: string[][] = [];
  let list: (() => Promise<HostCertificate[]>) | null = null;
  const following = await followCertificates({
    listener: {
      readOwn: () => ({ cert: 'own', key: 'own' }),
      use: (certificates) => void shown.push(certificates.map(({ serverName }) => serverName)),
    },
    load: async () => list?.() ?? [],
    invalidation: {
      onChange: (listener) => {
        tell = listener;
      },
    },
    log: silentLog,
    collectMs: 1,
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

test('certificates that are renewed soon after each other are shown together; a host that is new or gone, at once', async () => {
  let tell: (tag: string | null) => void = () => {};
  const shown: string[][] = [];
  const newOf = (serverName: string) => ({ serverName, cert: Bun.randomUUIDv7(), key: '' });
  let list = [newOf('one.test'), newOf('two.test')];
  const names = () => list.map(({ cert }) => cert);
  let loads = 0;
  const followed = async (collectMs: number) =>
    followCertificates({
      listener: {
        readOwn: () => ({ cert: 'own', key: 'own' }),
        use: (certificates) => void shown.push(certificates.map(({ cert }) => cert)),
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
      collectMs,
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
