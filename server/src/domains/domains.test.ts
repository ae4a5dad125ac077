import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { domainsPerAppMax } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import { deleteApp } from '../apps/delete-app.ts';
import { type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import type { CertificateState } from './domain-certificates.ts';
import {
  activeDomain,
  checkByClock,
  domainWorld,
  holdersIn,
  holdNext,
  type MemoryDns,
  memoryDns,
  newHost,
  publish,
  tellLosses,
  testAppsDomain,
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

describe('adding', () => {
  test('answers with what is to be published, and the same is listed', async () => {
    const { call, app } = await world();
    const host = newHost();
    const { status, body } = await call('POST', '', { host: ` ${host.toUpperCase()}. ` });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({
        ...{ app_id: app.id, host, host_unicode: host, status: 'pending', disconnected_for: null },
        records: [
          {
            ...{ type: 'TXT', name: `_svc-challenge.${host}`, purpose: 'ownership' },
            value: expect.stringMatching(/^svc-verify=[0-9a-f]{40}$/),
          },
          { type: 'CNAME', name: host, value: `edge.${testAppsDomain}`, purpose: 'routing' },
        ],
        ownership: expect.objectContaining({ state: 'waiting', reason: 'not_checked', found: [] }),
        certificate: expect.objectContaining({
          ...{ state: 'ok', reason: 'not_configured' },
          next_step: expect.stringContaining('None is made here'),
        }),
        url: `http://${host}:4400/`,
      }),
    ]);
    expect((await call('GET', '')).body).toEqual({ items: [body], page: 1, per_page: 50, total: 1 });
    expect((await call('GET', `/${body.id}`)).body).toEqual(body);
  });

  test('a host at the top of its zone gets addresses instead of a CNAME', async () => {
    const { call } = await world();
    const host = newHost().replace('www.', '');
    const { body } = await call('POST', '', { host });
    expect(body.records.slice(1)).toEqual([
      { type: 'A', name: host, value: '192.0.2.10', purpose: 'routing' },
      { type: 'AAAA', name: host, value: '2001:db8::10', purpose: 'routing' },
    ]);
  });

  test('the same host again is refused, however it is written; another app may wait for it as well', async () => {
    const [one, other] = [await world(), await world()];
    const host = newHost();
    await one.add(host);
    const again = await one.call('POST', '', { host: `${host.toUpperCase()}.` });
    expect([again.status, again.body.code]).toEqual([409, 'already_attached']);
    const mine = await one.call('GET', '');
    await other.add(host);
    const theirs = await other.call('GET', '');
    expect(mine.body.items[0].records[0].value).not.toBe(theirs.body.items[0].records[0].value);
  });

  test('malformed hosts are 400, reserved ones 422', async () => {
    const { call } = await world();
    for (const [host, status, code] of [
      ['https://www.example.com/', 400, 'validation_failed'],
      ['127.0.0.1', 400, 'validation_failed'],
      ['*.example.com', 400, 'validation_failed'],
      ['co.uk', 422, 'host_reserved'],
      ['com', 422, 'host_reserved'],
      ['localhost', 422, 'host_reserved'],
      [`shop.${testAppsDomain}`, 422, 'host_reserved'],
    ] as const) {
      const answer = await call('POST', '', { host });
      expect([host, answer.status, answer.body.code]).toEqual([host, status, code]);
    }
  });

  test('fifty is the most, also when many are added at once', async () => {
    const { call, app, tenant } = await world();
    await sql`insert into svc.domains (id, app_id, tenant_id, host, token, status, ownership, routing, certificate,
        created_by, created_at, pending_since)
      select gen_random_uuid(), ${app.id}, ${tenant.id}, 'n' || n || ${`.${newHost()}`}, 't', 'pending', '{}', '{}', '{}',
        ${app.ownerId}, now(), now() from generate_series(1, ${domainsPerAppMax - 2}) n`.execute(database.db);
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('POST', '', { host: newHost() })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe('limit_reached');
  });

  test('owners add and verify, an admin sees and removes, a member does not know of it', async () => {
    const { call, add, people } = await world();
    const id = await add(newHost());
    const by = async (person: keyof typeof people) => [
      (await call('GET', '', undefined, people[person])).status,
      (await call('POST', '', { host: newHost() }, people[person])).status,
      (await call('POST', `/${id}/verify`, undefined, people[person])).status,
    ];
    expect(await by('coOwner')).toEqual([200, 201, 200]);
    expect(await by('admin')).toEqual([200, 403, 403]);
    expect(await by('member')).toEqual([404, 404, 404]);
    expect((await call('DELETE', `/${id}`, undefined, people.admin)).status).toBe(204);
    expect((await call('DELETE', `/${id}`, undefined, people.admin)).status).toBe(404);
  });
});

describe('verifying', () => {
  test('explains what is missing, and is active when all of it is there', async () => {
    const { call, add, row } = await world();
    const host = newHost();
    const id = await add(host);
    const first = await call('POST', `/${id}/verify`);
    expect([first.status, first.body.status]).toEqual([200, 'pending']);
    expect(first.body.ownership).toMatchObject({ state: 'failed', reason: 'missing', found: [] });
    expect(first.body.ownership.next_step).toContain(`_svc-challenge.${host}`);
    expect(first.body.routing).toMatchObject({ state: 'failed', reason: 'missing', found: [] });

    dns.texts.set(`_svc-challenge.${host}`, ['svc-verify=other', 'v=spf1 -all']);
    dns.routes.set(host, { aliases: ['elsewhere.example'], addresses: ['203.0.113.9'] });
    const second = await call('POST', `/${id}/verify`);
    expect(second.body.ownership).toMatchObject({
      ...{ state: 'failed', reason: 'mismatch', found: ['svc-verify=other', 'v=spf1 -all'] },
    });
    expect(second.body.routing).toMatchObject({
      ...{ state: 'failed', reason: 'mismatch', found: ['CNAME elsewhere.example', 'A 203.0.113.9'] },
    });
    expect(await holdersOf(host)).toEqual([]);

    await publish(dns, await row(id));
    const third = await call('POST', `/${id}/verify`);
    expect(third.body).toMatchObject({ status: 'active', verified_at: expect.stringMatching(/Z$/) });
    for (const check of ['ownership', 'routing'])
      expect(third.body[check]).toMatchObject({ state: 'ok', next_step: '' });
    expect(third.body.certificate).toMatchObject({ state: 'ok', reason: 'not_configured' });
  });

  test('addresses count where all of them are of the platform, in whatever spelling', async () => {
    const { call, add, row } = await world();
    const host = newHost();
    const id = await add(host);
    await publish(dns, await row(id));
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

  test("a CNAME to the app's own host counts, one to another app's does not", async () => {
    const { call, add, row, app } = await world();
    const host = newHost();
    const id = await add(host);
    await publish(dns, await row(id));
    dns.routes.set(host, { aliases: [`another.${testAppsDomain}`] });
    expect((await call('POST', `/${id}/verify`)).body.status).toBe('pending');
    dns.routes.set(host, { aliases: ['a.example', `${app.slug}.${testAppsDomain}`] });
    expect((await call('POST', `/${id}/verify`)).body.status).toBe('active');
  });

  test('only the one whose record is published gets the host; pending ones take nothing from each other', async () => {
    const [one, other] = [await world(), await world()];
    const host = newHost();
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await publish(dns, await other.row(theirs));
    expect((await one.call('POST', `/${mine}/verify`)).body).toMatchObject({
      ...{ status: 'pending', ownership: { state: 'failed', reason: 'mismatch' } },
    });
    expect((await other.call('POST', `/${theirs}/verify`)).body.status).toBe('active');
    expect(await holdersOf(host)).toEqual([other.app.id]);
  });

  test('both records published: who has the host keeps it, and the other is told so', async () => {
    const host = newHost();
    const holder = await activeAt(host);
    const other = await world();
    const id = await other.add(host);
    await publish(dns, await holder.row(holder.id), await other.row(id));
    const refused = await other.call('POST', `/${id}/verify`);
    expect([refused.status, refused.body.code]).toEqual([409, 'host_active_elsewhere']);
    expect(await holdersOf(host)).toEqual([holder.app.id]);
    expect((await checkByClock(database, other, id)).ownership).toMatchObject({
      ...{ state: 'failed', reason: 'active_elsewhere' },
    });
    expect((await holder.row(holder.id)).status).toBe('active');
  });

  test('who proves a host afresh takes it from one whose record is gone, and that one hears of it', async () => {
    const host = newHost();
    const holder = await activeAt(host);
    const other = await world();
    const id = await other.add(host);
    await publish(dns, await other.row(id));
    expect((await other.call('POST', `/${id}/verify`)).body.status).toBe('active');
    expect(await holdersOf(host)).toEqual([other.app.id]);
    expect(await holder.row(holder.id)).toMatchObject({
      ...{ status: 'disconnected', disconnected_for: 'claimed_elsewhere', next_check_at: null },
    });
    const entries = () =>
      sql<{ changes: string }>`select changes from svc.audit_entries
        where tenant_id = ${holder.tenant.id} and action = 'domains.disconnect'`.execute(database.db);
    expect((await entries()).rows).toEqual([]);
    expect(await tellLosses(database)).toBe(1);
    expect((await entries()).rows).toHaveLength(1);
    expect((await entries()).rows[0]!.changes).not.toContain(other.app.id);
  });

  test('what was read before another app got the host takes it from nobody', async () => {
    const host = newHost();
    const [one, other] = [await world(), await world()];
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await publish(dns, await one.row(mine));
    const late = holdNext(dns);
    const asked = one.call('POST', `/${mine}/verify`);
    await late.isRead;
    await publish(dns, await other.row(theirs));
    expect((await other.call('POST', `/${theirs}/verify`)).body.status).toBe('active');
    late.letThrough();
    const refused = await asked;
    expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
    expect(await holdersOf(host)).toEqual([other.app.id]);
    // Asked now, its name servers say what is so.
    expect((await one.call('POST', `/${mine}/verify`)).body.ownership.reason).toBe('mismatch');
    expect(await holdersOf(host)).toEqual([other.app.id]);
  });

  test.each(['still has', 'no longer has'] as const)(
    'who lost a host while its name servers were asked does not win it back, where the other %s it',
    async (how) => {
      const host = newHost();
      const holder = await activeAt(host);
      const other = await world();
      const id = await other.add(host);
      const late = holdNext(dns);
      const asked = holder.call('POST', `/${holder.id}/verify`);
      await late.isRead;
      await publish(dns, await other.row(id));
      expect((await other.call('POST', `/${id}/verify`)).body.status).toBe('active');
      if (how === 'no longer has') await other.call('DELETE', `/${id}`);
      late.letThrough();
      expect((await asked).status).toBe(503);
      expect(await holdersOf(host)).toEqual(how === 'still has' ? [other.app.id] : []);
      expect((await holder.row(holder.id)).status).toBe('disconnected');
    },
  );

  test('a preview tells what would become of it, and nothing does', async () => {
    const { call, add, row } = await world();
    const id = await add(newHost());
    await publish(dns, await row(id));
    const before = await row(id);
    const { body } = await call('POST', `/${id}/verify?dry_run=true`);
    expect(body.plan.changes).toContainEqual({
      ...{ path: 'status', before: 'pending', after: 'active', effect: 'update' },
    });
    expect(await row(id)).toEqual(before);
  });

  test('of many at once exactly one of two apps has the host', async () => {
    const [one, other] = [await world(), await world()];
    const host = newHost();
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await publish(dns, await one.row(mine), await other.row(theirs));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        at % 2 ? one.call('POST', `/${mine}/verify`) : other.call('POST', `/${theirs}/verify`),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 409, 409, 409, 409]);
    expect(await holdersOf(host)).toHaveLength(1);
  });

  test('an archived app takes no new hosts, and keeps those it has', async () => {
    const host = newHost();
    const { call, app, id } = await activeAt(host);
    await sql`update svc.apps set record = 'archived', archived_at = now() where id = ${app.id}`.execute(
      database.db,
    );
    for (const answer of [await call('POST', '', { host: newHost() }), await call('POST', `/${id}/verify`)])
      expect([answer.status, answer.body.code]).toEqual([409, 'app_not_active']);
    expect(await holdersOf(host)).toEqual([app.id]);
    expect((await call('DELETE', `/${id}`)).status).toBe(204);
  });
});

describe('removing', () => {
  test('cuts the host at once, and nobody has it without a record of their own', async () => {
    const host = newHost();
    const { call, id } = await activeAt(host);
    const other = await world();
    const theirs = await other.add(host);
    expect((await call('DELETE', `/${id}`)).status).toBe(204);
    expect(await holdersOf(host)).toEqual([]);
    // All records of the one before are still published.
    expect((await other.call('POST', `/${theirs}/verify`)).body.status).toBe('pending');
    expect(await holdersOf(host)).toEqual([]);
    const gone = await call('DELETE', `/${id}`);
    expect([gone.status, gone.body.code]).toEqual([404, 'not_found']);
  });

  test('a host that is added again has a new record to publish', async () => {
    const host = newHost();
    const { call, add, row, id } = await activeAt(host);
    await call('DELETE', `/${id}`);
    const again = await add(host);
    expect((await call('POST', `/${again}/verify`)).body.ownership.reason).toBe('mismatch');
    await publish(dns, await row(again));
    expect((await call('POST', `/${again}/verify`)).body.status).toBe('active');
  });

  test('a deleted app loses its hosts, and the plan says which', async () => {
    const host = newHost();
    const { app, tenant, people } = await activeAt(host);
    const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
    const { result } = await testMutation(database.db, people.owner, (ctx) => deleteApp(ctx), {
      ...{ context, mode: 'preview' },
    });
    expect(result.kind === 'previewed' && result.plan.changes).toContainEqual({
      ...{ path: 'domains', before: [host], after: [], effect: 'update' },
    });
    expect(await holdersOf(host)).toEqual([app.id]);
    await testMutation(database.db, people.owner, (ctx) => deleteApp(ctx), { context });
    expect(await holdersOf(host)).toEqual([]);
  });
});

describe('with certificates', () => {
  let state: CertificateState;
  const certified = () => {
    const stateOf = async () => state;
    return domainWorld(database, testPlace(dns, { isOn: true, stateOf }));
  };
  const orders = async (id: string) => {
    const { rows } = await sql`select from svc.outbox where topic = 'certificates.order'
      and payload->>'domainId' = ${id}`.execute(database.db);
    return rows.length;
  };

  test('one is ordered once the records are right, and the domain is active when it is there', async () => {
    state = { state: 'waiting' };
    const made = await certified();
    const id = await made.add(newHost());
    const verify = async () => (await made.call('POST', `/${id}/verify`)).body;
    expect((await verify()).certificate).toMatchObject({ state: 'waiting', reason: 'not_ordered' });
    expect(await orders(id)).toBe(0);
    await publish(dns, await made.row(id));
    expect(await verify()).toMatchObject({ status: 'pending', certificate: { reason: 'ordered' } });
    await verify();
    expect(await orders(id)).toBe(1);
    state = { state: 'failed', reason: 'order_failed', detail: 'The authority said no.' };
    expect((await verify()).certificate).toMatchObject({
      ...{ state: 'failed', reason: 'order_failed', found: ['The authority said no.'] },
    });
    state = { state: 'ok' };
    expect((await verify()).status).toBe('active');
    state = { state: 'failed', reason: 'expired', detail: 'It ended.' };
    expect(await checkByClock(database, made, id)).toMatchObject({
      ...{ status: 'disconnected', disconnected_for: 'certificate_expired' },
    });
  });

  test('a CAA record that forbids our authority is told, and nothing is ordered', async () => {
    state = { state: 'waiting' };
    const made = await certified();
    const id = await made.add(newHost());
    await publish(dns, await made.row(id));
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
    await made.call('POST', `/${id}/verify`);
    expect(await orders(id)).toBe(0);
  });
});
