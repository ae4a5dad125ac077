import { describe, expect, test } from 'bun:test';
import { pendingTriesMax } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import { holdNext, newHost, useDomains } from './testing.ts';

const { database, dns, world, checkAll, row, publish, activeAt, holdersOf, checkByClock, pass } =
  useDomains();

describe('periodic checks', () => {
  test('a pending domain is disconnected after 75 tries, and verifying it starts again', async () => {
    const made = await world();
    const id = await made.add(newHost());
    for (let tries = 1; tries <= 3; tries++)
      expect(await checkByClock(id)).toMatchObject({ status: 'pending', tries });
    await sql`update svc.domains set tries = ${pendingTriesMax - 1} where id = ${id}`.execute(database.db);
    expect(await checkByClock(id)).toMatchObject({
      status: 'disconnected',
      disconnected_for: 'not_verified',
      next_check_at: null,
    });
    expect((await made.verify(id)).body).toMatchObject({
      status: 'pending',
      disconnected_at: null,
      disconnected_for: null,
    });
    expect(await row(id)).toMatchObject({ tries: 0 });
  });

  test('a pending domain becomes active once its records exist', async () => {
    const made = await world();
    const host = newHost();
    const id = await made.add(host);
    await publish(id);
    expect((await checkByClock(id)).status).toBe('active');
    expect(await holdersOf(host)).toEqual([made.app.id]);
  });

  test.each(['servfail', 'timeout', 'refused', 'unreachable', 'lame'] as const)(
    'a DNS outage (%s) disconnects no active domain, and a pending one only after its time',
    async (trouble) => {
      const host = newHost();
      const made = await activeAt(host);
      const waiting = await made.add(newHost());
      dns.trouble = trouble;
      for (let check = 0; check < 4; check++) {
        await pass(made.id, '10 days');
        expect(await checkByClock(made.id)).toMatchObject({
          status: 'active',
          wrong_since: null,
          wrong_checks: 0,
          ownership: { state: 'ok' },
        });
        await pass(waiting, '40 hours');
        expect(await checkByClock(waiting)).toMatchObject({
          status: 'pending',
          tries: 0,
          ownership: { state: 'waiting', reason: 'dns_unavailable' },
        });
      }
      await pass(waiting, '40 hours');
      expect(await checkByClock(waiting)).toMatchObject({
        status: 'disconnected',
        disconnected_for: 'not_verified',
      });
      expect(await holdersOf(host)).toEqual([made.app.id]);
    },
  );

  test('a lookup that is older than the claim of another app is repeated', async () => {
    const host = newHost();
    const [one, other] = [await world(), await world()];
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await publish(mine);
    const late = holdNext(dns);
    const checked = checkByClock(mine);
    await late.isRead;
    await publish(theirs);
    expect((await other.verify(theirs)).body.status).toBe('active');
    late.letThrough();
    expect(await checked).toMatchObject({
      status: 'pending',
      tries: 1,
      ownership: { state: 'failed', reason: 'mismatch' },
    });
    expect(await holdersOf(host)).toEqual([other.app.id]);
  });

  test('a DNS outage activates no domain by earlier results', async () => {
    const made = await world();
    const host = newHost();
    const id = await made.add(host);
    await publish(id);
    await sql`update svc.domains set ownership = ownership || '{"state":"ok"}', routing = routing || '{"state":"ok"}'
      where id = ${id}`.execute(database.db);
    dns.trouble = 'timeout';
    expect((await made.verify(id)).body.status).toBe('pending');
  });

  test('an active domain is disconnected after three wrong checks over a day', async () => {
    const host = newHost();
    const made = await activeAt(host);
    dns.routes.delete(host);
    for (let check = 1; check <= 5; check++)
      expect(await checkByClock(made.id)).toMatchObject({
        status: 'active',
        wrong_checks: check,
        routing: { state: 'failed', reason: 'missing' },
      });
    await pass(made.id, '24 hours');
    dns.trouble = 'servfail';
    expect((await checkByClock(made.id)).status).toBe('active');
    dns.trouble = null;
    expect(await checkByClock(made.id)).toMatchObject({
      status: 'disconnected',
      disconnected_for: 'records_wrong',
    });
    expect(await holdersOf(host)).toEqual([]);
    const { rows } = await sql<{ action: string }>`select action from svc.audit_entries
      where tenant_id = ${made.tenant.id} and target_id = ${made.id} order by seq`.execute(database.db);
    // Added; active; wrong for the first time; disconnected. Unchanged checks are not audited.
    expect(rows.map(({ action }) => action)).toEqual(['domains.add', ...Array(3).fill('domains.verify')]);
  });

  test('an active domain without TXT record is still served, one that points elsewhere is not', async () => {
    const host = newHost();
    const made = await activeAt(host);
    dns.texts.delete(`_svc-challenge.${host}`);
    for (let check = 0; check < 4; check++) {
      expect(await checkByClock(made.id)).toMatchObject({
        status: 'active',
        wrong_checks: 0,
        ownership: { state: 'failed', reason: 'missing' },
      });
      await pass(made.id, '10 days');
    }
    dns.routes.set(host, { addresses: ['203.0.113.9'] });
    dns.textTrouble = 'servfail';
    for (let check = 1; check <= 2; check++) expect((await checkByClock(made.id)).wrong_checks).toBe(check);
    await pass(made.id, '24 hours');
    expect((await checkByClock(made.id)).disconnected_for).toBe('records_wrong');
  });

  test('slow name servers of one tenant do not delay other tenants', async () => {
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
    const checked = checkAll();
    const isChecked = async (id: string) => (await row(id)).last_checked_at !== null;
    while (!(await Promise.all(quick.map(isChecked))).every(Boolean)) await Bun.sleep(5);
    letThrough();
    expect([await checked, most]).toEqual([hosts.length + quick.length, 2]);
  });

  test('two copies of the server check each domain once', async () => {
    const made = await world();
    const ids = await Promise.all(Array.from({ length: 12 }, () => made.add(newHost())));
    await sql`update svc.domains set next_check_at = case when app_id = ${made.app.id} then now() end`.execute(
      database.db,
    );
    const counts = await Promise.all([checkAll(), checkAll()]);
    expect(counts[0]! + counts[1]!).toBe(ids.length);
    expect(dns.questions).toBe(ids.length * 2);
    for (const id of ids) expect(await row(id)).toMatchObject({ tries: 1, checking_until: null });
  });
});
