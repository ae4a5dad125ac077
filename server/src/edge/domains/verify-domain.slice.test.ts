import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { CertificateState } from './domain-record.ts';
import { holdNext, newHost, testAppsDomain, useDomains } from './testing.ts';

const { database, dns, certificates, world, row, publish, activeAt, holdersOf, checkByClock, notifyLosses } =
  useDomains();

describe('verifying', () => {
  test('explains what is missing, and activates the domain when everything is right', async () => {
    const { add, verify } = await world();
    const host = newHost();
    const id = await add(host);
    const first = await verify(id);
    expect([first.status, first.body.status]).toEqual([200, 'pending']);
    expect(first.body.ownership).toMatchObject({ state: 'failed', reason: 'missing', found: [] });
    expect(first.body.ownership.next_step).toContain(`_svc-challenge.${host}`);
    expect(first.body.routing).toMatchObject({ state: 'failed', reason: 'missing', found: [] });

    dns.texts.set(`_svc-challenge.${host}`, ['svc-verify=other', 'v=spf1 -all']);
    dns.routes.set(host, { aliases: ['elsewhere.example'], addresses: ['203.0.113.9'] });
    const second = await verify(id);
    expect(second.body.ownership).toMatchObject({
      state: 'failed',
      reason: 'mismatch',
      found: ['svc-verify=other', 'v=spf1 -all'],
    });
    expect(second.body.routing).toMatchObject({
      state: 'failed',
      reason: 'mismatch',
      found: ['CNAME elsewhere.example', 'A 203.0.113.9'],
    });
    expect(await holdersOf(host)).toEqual([]);

    await publish(id);
    const third = await verify(id);
    expect(third.body).toMatchObject({ status: 'active', verified_at: expect.stringMatching(/Z$/) });
    for (const check of ['ownership', 'routing'])
      expect(third.body[check]).toMatchObject({ state: 'ok', next_step: '' });
    expect(third.body.certificate).toMatchObject({ state: 'ok', reason: 'not_configured' });
  });

  test('addresses are right if all of them belong to the platform, in any spelling', async () => {
    const { call, add } = await world();
    const host = newHost();
    const id = await add(host);
    await publish(id);
    const routing = async (addresses: string[]) => {
      dns.routes.set(host, { addresses });
      const { body } = await call('POST', `/${id}/verify?dry_run=true`);
      return body.plan.changes.find(({ path }: { path: string }) => path === 'routing')?.after;
    };
    expect(await routing(['192.0.2.10'])).toBe('ok');
    expect(await routing(['192.0.2.10', '2001:DB8:0::10'])).toBe('ok');
    expect(await routing(['192.0.2.10', '203.0.113.9'])).toBe('failed (mismatch)');
    expect(await routing(['192.0.2.10', '2001:db8::99'])).toBe('failed (mismatch)');
    expect((await row(id)).status).toBe('pending');
  });

  test('a CNAME to the subdomain of the app is right, one to another app is not', async () => {
    const { add, app, verify } = await world();
    const host = newHost();
    const id = await add(host);
    await publish(id);
    dns.routes.set(host, { aliases: [`another.${testAppsDomain}`] });
    expect((await verify(id)).body.status).toBe('pending');
    dns.routes.set(host, { aliases: ['a.example', `${app.slug}.${testAppsDomain}`] });
    expect((await verify(id)).body.status).toBe('active');
  });

  test('only the app whose record is published gets the host', async () => {
    const [one, other] = [await world(), await world()];
    const host = newHost();
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await publish(theirs);
    expect((await one.verify(mine)).body).toMatchObject({
      status: 'pending',
      ownership: { state: 'failed', reason: 'mismatch' },
    });
    expect((await other.verify(theirs)).body.status).toBe('active');
    expect(await holdersOf(host)).toEqual([other.app.id]);
  });

  test('the holder keeps the host while both records are published', async () => {
    const host = newHost();
    const holder = await activeAt(host);
    const other = await world();
    const id = await other.add(host);
    await publish(holder.id, id);
    const refused = await other.verify(id);
    expect([refused.status, refused.body.code]).toEqual([409, 'host_active_elsewhere']);
    expect(await holdersOf(host)).toEqual([holder.app.id]);
    expect((await checkByClock(id)).ownership).toMatchObject({
      state: 'failed',
      reason: 'active_elsewhere',
    });
    expect((await row(holder.id)).status).toBe('active');
  });

  test('a new proof takes the host from an app whose record is gone, which is notified', async () => {
    const host = newHost();
    const holder = await activeAt(host);
    const other = await world();
    const id = await other.add(host);
    await publish(id);
    expect((await other.verify(id)).body.status).toBe('active');
    expect(await holdersOf(host)).toEqual([other.app.id]);
    expect(await row(holder.id)).toMatchObject({
      status: 'disconnected',
      disconnected_for: 'claimed_elsewhere',
      next_check_at: null,
    });
    const entries = () =>
      sql<{ changes: string }>`select changes from svc.audit_entries
        where tenant_id = ${holder.tenant.id} and action = 'domains.disconnect'`.execute(database.db);
    expect((await entries()).rows).toEqual([]);
    expect(await notifyLosses()).toBe(1);
    expect((await entries()).rows).toHaveLength(1);
    expect((await entries()).rows[0]!.changes).not.toContain(other.app.id);
  });

  test('a lookup older than the claim of another app takes the host from nobody', async () => {
    const host = newHost();
    const [one, other] = [await world(), await world()];
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await publish(mine);
    const late = holdNext(dns);
    const asked = one.verify(mine);
    await late.isRead;
    await publish(theirs);
    expect((await other.verify(theirs)).body.status).toBe('active');
    late.letThrough();
    const refused = await asked;
    expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
    expect(await holdersOf(host)).toEqual([other.app.id]);
    // A new lookup finds the other record.
    expect((await one.verify(mine)).body.ownership.reason).toBe('mismatch');
    expect(await holdersOf(host)).toEqual([other.app.id]);
  });

  test.each(['still has', 'no longer has'] as const)(
    'an app that lost the host during the lookup does not get it back while the other %s it',
    async (how) => {
      const host = newHost();
      const holder = await activeAt(host);
      const other = await world();
      const id = await other.add(host);
      const late = holdNext(dns);
      const asked = holder.verify(holder.id);
      await late.isRead;
      await publish(id);
      expect((await other.verify(id)).body.status).toBe('active');
      if (how === 'no longer has') await other.call('DELETE', `/${id}`);
      late.letThrough();
      expect((await asked).status).toBe(503);
      expect(await holdersOf(host)).toEqual(how === 'still has' ? [other.app.id] : []);
      expect((await row(holder.id)).status).toBe('disconnected');
    },
  );

  test('a preview shows the outcome and changes nothing', async () => {
    const { call, add } = await world();
    const id = await add(newHost());
    await publish(id);
    const before = await row(id);
    const { body } = await call('POST', `/${id}/verify?dry_run=true`);
    expect(body.plan.changes).toContainEqual({
      path: 'status',
      before: 'pending',
      after: 'active',
      effect: 'update',
    });
    expect(await row(id)).toEqual(before);
  });

  test('concurrent verifications give the host to exactly one app', async () => {
    const [one, other] = [await world(), await world()];
    const host = newHost();
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await publish(mine, theirs);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => (at % 2 ? one.verify(mine) : other.verify(theirs))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 409, 409, 409, 409]);
    expect(await holdersOf(host)).toHaveLength(1);
  });

  test('an archived app adds no hosts and keeps the ones it has', async () => {
    const host = newHost();
    const { call, app, id, verify } = await activeAt(host);
    await sql`update svc.apps set record = 'archived', archived_at = now() where id = ${app.id}`.execute(
      database.db,
    );
    for (const answer of [await call('POST', '', { host: newHost() }), await verify(id)])
      expect([answer.status, answer.body.code]).toEqual([409, 'app_not_active']);
    expect(await holdersOf(host)).toEqual([app.id]);
    expect((await call('DELETE', `/${id}`)).status).toBe(204);
  });
});

describe('with certificates', () => {
  let state: CertificateState;
  const certified = () => {
    Object.assign(certificates, { isOn: true, stateOf: async () => state });
    return world();
  };
  const orders = async (id: string) => {
    const { rows } = await sql`select from svc.outbox where topic = 'certificates.order'
      and payload->>'domainId' = ${id}`.execute(database.db);
    return rows.length;
  };

  test('a certificate is ordered once the records are right, and activates the domain', async () => {
    state = { state: 'waiting' };
    const made = await certified();
    const id = await made.add(newHost());
    const verify = async () => (await made.verify(id)).body;
    expect((await verify()).certificate).toMatchObject({ state: 'waiting', reason: 'not_ordered' });
    expect(await orders(id)).toBe(0);
    await publish(id);
    expect(await verify()).toMatchObject({ status: 'pending', certificate: { reason: 'ordered' } });
    await verify();
    expect(await orders(id)).toBe(1);
    state = { state: 'failed', reason: 'order_failed', detail: 'The authority refused.' };
    expect((await verify()).certificate).toMatchObject({
      state: 'failed',
      reason: 'order_failed',
      found: ['The authority refused.'],
    });
    state = { state: 'ok' };
    expect((await verify()).status).toBe('active');
    state = { state: 'failed', reason: 'expired', detail: 'It ended.' };
    expect(await checkByClock(id)).toMatchObject({
      status: 'disconnected',
      disconnected_for: 'certificate_expired',
    });
  });

  test('a CAA record that forbids the authority is reported, and nothing is ordered', async () => {
    state = { state: 'waiting' };
    const made = await certified();
    const id = await made.add(newHost());
    await publish(id);
    const judged = async (...caa: [string, string, boolean?][]) => {
      dns.caa = caa.map(([tag, value, isCritical = false]) => ({ tag, value, isCritical }));
      const { body } = await made.call('POST', `/${id}/verify?dry_run=true`);
      const change = body.plan.changes.find(({ path }: { path: string }) => path === 'certificate');
      return change.after;
    };
    expect(await judged(['issue', 'other.example'])).toBe('failed (caa_forbids)');
    expect(await judged(['issue', ';'])).toBe('failed (caa_forbids)');
    expect(await judged(['issue', 'ca.example'], ['unknown', 'x', true])).toBe('failed (caa_forbids)');
    expect(await judged(['issue', 'other.example'], ['issue', ' ca.example ; account=1'])).toBe(
      'waiting (ordered)',
    );
    expect(await judged(['iodef', 'mailto:a@example.test'])).toBe('waiting (ordered)');
    dns.caa = [{ tag: 'issue', value: 'other.example', isCritical: false }];
    await made.verify(id);
    expect(await orders(id)).toBe(0);
  });
});
