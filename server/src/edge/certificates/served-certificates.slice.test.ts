import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { HostCertificate } from '../../http/https-listener.ts';
import { silentLog, useTestDatabase } from '../../testing.ts';
import { createChallengeLookup } from './certificates.ts';
import { createCertificateLoader, syncCertificates } from './served-certificates.ts';
import { deleteExpiredChallenges, saveChallenge } from './store.ts';
import { findRow, issuedNow, makeOnlyDue, newDomain, orderWith, testAuthority } from './testing.ts';

const database = useTestDatabase();

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
  await makeOnlyDue(database, before);
  await sql`update svc.domains set status = 'pending' where id = ${before.domainId}`.execute(database.db);
  await orderWith(
    database,
    testAuthority(async () => old),
  );
  await sql`update svc.domains set status = 'disconnected' where id = ${before.domainId}`.execute(
    database.db,
  );
  for (const domain of [shown, waiting]) {
    await makeOnlyDue(database, domain);
    await orderWith(database);
  }
  const load = createCertificateLoader({ db: database.db, log: silentLog });
  const find = async (host: string) => (await load()).filter(({ serverName }) => serverName === host);
  const fresh = (await findRow(database, shown))!.chain_pem!;
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
    await makeOnlyDue(database, domain);
    await orderWith(database);
  }
  await sql`update svc.certificates set key_sealed = (select key_sealed from svc.certificates
      where domain_id = ${good.domainId}) where domain_id = ${bad.domainId}`.execute(database.db);
  const hosts = (await createCertificateLoader({ db: database.db, log: silentLog })()).map(
    ({ serverName }) => serverName,
  );
  expect([hosts.includes(good.host), hosts.includes(bad.host)]).toEqual([true, false]);
});

test('the listener receives changes and recovers from a failure', async () => {
  let notify: (tag: string | null) => void = () => {};
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
        notify = listener;
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
  notify('certificates');
  await until(2);
  const asked = Promise.withResolvers<void>();
  list = async () => {
    asked.resolve();
    throw new Error('no database');
  };
  notify('domains');
  await asked.promise;
  list = async () => [];
  notify(null);
  await until(3);
  following.stop();
  notify('certificates');
  expect(shown).toEqual([[], ['one.test'], []]);
});

test('renewals are batched, and added or removed hosts are applied at once', async () => {
  let notify: (tag: string | null) => void = () => {};
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
          notify = listener;
        },
      },
      log: silentLog,
      batchMs,
    });
  const renew = async (name: string) => {
    list = list.map((item) => (item.serverName === name ? newOf(name) : item));
    const before = loads;
    notify('certificates');
    while (loads === before) await Bun.sleep(1);
  };
  const long = await followed(60_000);
  const first = names();
  for (const name of ['one.test', 'two.test']) await renew(name);
  expect(shown).toEqual([first]);
  list = [...list, newOf('three.test')];
  notify('certificates');
  while (shown.length < 2) await Bun.sleep(1);
  expect(shown.at(-1)).toEqual(names());
  list = list.filter(({ serverName }) => serverName !== 'one.test');
  notify('domains');
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
