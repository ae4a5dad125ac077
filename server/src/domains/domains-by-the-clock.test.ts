import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { pendingTriesMax } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { silentLog, type TestDatabase, testDatabase } from '../testing.ts';
import { checkDomains } from './check-domains.ts';
import {
  activeDomain,
  checkByClock,
  domainWorld,
  holdersIn,
  holdNext,
  type MemoryDns,
  memoryDns,
  newHost,
  pass,
  publish,
  testPlace,
} from './testing.ts';

setDefaultTimeout(30_000);
let database: TestDatabase;
let dns: MemoryDns;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(() => {
  dns = memoryDns();
});

const world = () => domainWorld(database, testPlace(dns));
const holdersOf = (host: string) => holdersIn(database, host);
const activeAt = (host: string) => activeDomain(database, dns, host);

describe('by the clock', () => {
  test('a pending one is tried 75 times, then disconnected; asking for it begins anew', async () => {
    const made = await world();
    const id = await made.add(newHost());
    for (let tries = 1; tries <= 3; tries++)
      expect(await checkByClock(database, made, id)).toMatchObject({ status: 'pending', tries });
    await sql`update svc.domains set tries = ${pendingTriesMax - 1} where id = ${id}`.execute(database.db);
    expect(await checkByClock(database, made, id)).toMatchObject({
      ...{ status: 'disconnected', disconnected_for: 'not_verified', next_check_at: null },
    });
    expect((await made.call('POST', `/${id}/verify`)).body).toMatchObject({
      ...{ status: 'pending', disconnected_at: null, disconnected_for: null },
    });
    expect(await made.row(id)).toMatchObject({ tries: 0 });
  });

  test('a pending one becomes active by itself once the records are there', async () => {
    const made = await world();
    const host = newHost();
    const id = await made.add(host);
    await publish(dns, await made.row(id));
    expect((await checkByClock(database, made, id)).status).toBe('active');
    expect(await holdersOf(host)).toEqual([made.app.id]);
  });

  test.each(['servfail', 'timeout', 'refused', 'unreachable', 'lame'] as const)(
    'an outage (%s) disconnects nothing that is active, however long it lasts, and ends a wait with its time only',
    async (trouble) => {
      const host = newHost();
      const made = await activeAt(host);
      const waiting = await made.add(newHost());
      dns.trouble = trouble;
      for (let check = 0; check < 4; check++) {
        await pass(database, made.id, '10 days');
        expect(await checkByClock(database, made, made.id)).toMatchObject({
          ...{ status: 'active', wrong_since: null, wrong_checks: 0, ownership: { state: 'ok' } },
        });
        await pass(database, waiting, '40 hours');
        expect(await checkByClock(database, made, waiting)).toMatchObject({
          ...{ status: 'pending', tries: 0, ownership: { state: 'waiting', reason: 'dns_unavailable' } },
        });
      }
      await pass(database, waiting, '40 hours');
      expect(await checkByClock(database, made, waiting)).toMatchObject({
        ...{ status: 'disconnected', disconnected_for: 'not_verified' },
      });
      expect(await holdersOf(host)).toEqual([made.app.id]);
    },
  );

  test('what the clock read before another app got the host is read anew', async () => {
    const host = newHost();
    const [one, other] = [await world(), await world()];
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await publish(dns, await one.row(mine));
    const late = holdNext(dns);
    const checked = checkByClock(database, one, mine);
    await late.isRead;
    await publish(dns, await other.row(theirs));
    expect((await other.call('POST', `/${theirs}/verify`)).body.status).toBe('active');
    late.letThrough();
    expect(await checked).toMatchObject({
      ...{ status: 'pending', tries: 1, ownership: { state: 'failed', reason: 'mismatch' } },
    });
    expect(await holdersOf(host)).toEqual([other.app.id]);
  });

  test('during an outage nothing becomes active by what was found before it', async () => {
    const made = await world();
    const host = newHost();
    const id = await made.add(host);
    await publish(dns, await made.row(id));
    await sql`update svc.domains set ownership = ownership || '{"state":"ok"}', routing = routing || '{"state":"ok"}'
      where id = ${id}`.execute(database.db);
    dns.trouble = 'timeout';
    expect((await made.call('POST', `/${id}/verify`)).body.status).toBe('pending');
  });

  test('an active one is disconnected when its own name servers said no three times over a day', async () => {
    const host = newHost();
    const made = await activeAt(host);
    dns.routes.delete(host);
    for (let check = 1; check <= 5; check++)
      expect(await checkByClock(database, made, made.id)).toMatchObject({
        ...{ status: 'active', wrong_checks: check, routing: { state: 'failed', reason: 'missing' } },
      });
    await pass(database, made.id, '24 hours');
    dns.trouble = 'servfail';
    expect((await checkByClock(database, made, made.id)).status).toBe('active');
    dns.trouble = null;
    expect(await checkByClock(database, made, made.id)).toMatchObject({
      ...{ status: 'disconnected', disconnected_for: 'records_wrong' },
    });
    expect(await holdersOf(host)).toEqual([]);
    const { rows } = await sql<{ action: string }>`select action from svc.audit_entries
      where tenant_id = ${made.tenant.id} and target_id = ${made.id} order by seq`.execute(database.db);
    // Added; active; wrong for the first time; disconnected. What stays as it is leaves no entry.
    expect(rows.map(({ action }) => action)).toEqual(['domains.add', ...Array(3).fill('domains.verify')]);
  });

  test('an active one whose TXT is gone is served on; one that leads elsewhere is not, whoever answers for the TXT', async () => {
    const host = newHost();
    const made = await activeAt(host);
    dns.texts.delete(`_svc-challenge.${host}`);
    for (let check = 0; check < 4; check++) {
      expect(await checkByClock(database, made, made.id)).toMatchObject({
        ...{ status: 'active', wrong_checks: 0, ownership: { state: 'failed', reason: 'missing' } },
      });
      await pass(database, made.id, '10 days');
    }
    dns.routes.set(host, { addresses: ['203.0.113.9'] });
    dns.textTrouble = 'servfail';
    for (let check = 1; check <= 2; check++)
      expect((await checkByClock(database, made, made.id)).wrong_checks).toBe(check);
    await pass(database, made.id, '24 hours');
    expect((await checkByClock(database, made, made.id)).disconnected_for).toBe('records_wrong');
  });

  test("one tenant's name servers that are silent take two places of all, and others are looked at meanwhile", async () => {
    const [slow, other] = [await world(), await world()];
    const hosts = Array.from({ length: 6 }, () => `www.slow${newHost()}`);
    for (const host of hosts) await slow.add(host);
    const quick = await Promise.all(Array.from({ length: 10 }, () => other.add(newHost())));
    await sql`update svc.domains set next_check_at = case app_id when ${slow.app.id} then now() - interval '1 hour'
      when ${other.app.id} then now() end`.execute(database.db);
    const { promise: isLet, resolve: letThrough } = Promise.withResolvers<void>();
    let [atOnce, most] = [0, 0];
    dns.afterRead = async (name) => {
      if (!name.includes('.www.slow')) return;
      most = Math.max(most, ++atOnce);
      await isLet;
      atOnce--;
    };
    const checked = checkDomains({ db: database.db, outbox: rowsOnly, log: silentLog }, slow.place);
    const isChecked = async (id: string) => (await other.row(id)).last_checked_at !== null;
    while (!(await Promise.all(quick.map(isChecked))).every(Boolean)) await Bun.sleep(5);
    letThrough();
    expect([await checked, most]).toEqual([hosts.length + quick.length, 2]);
  });

  test('two copies of the server share the work: each domain is asked about once', async () => {
    const made = await world();
    const ids = await Promise.all(Array.from({ length: 12 }, () => made.add(newHost())));
    await sql`update svc.domains set next_check_at = case when app_id = ${made.app.id} then now() end`.execute(
      database.db,
    );
    const parts = { db: database.db, outbox: rowsOnly, log: silentLog };
    const counts = await Promise.all([1, 2].map(() => checkDomains(parts, made.place)));
    expect(counts[0]! + counts[1]!).toBe(ids.length);
    expect(dns.questions).toBe(ids.length * 2);
    for (const id of ids) expect(await made.row(id)).toMatchObject({ tries: 1, checking_until: null });
  });
});
