import { describe, expect, test } from 'bun:test';
import { domainsPerAppMax } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import { deleteApp } from '../../apps/record/lifecycle.ts';
import { testMutation } from '../../testing.ts';
import { newHost, testAppsDomain, useDomains } from './testing.ts';

const { database, world, publish, activeAt, holdersOf } = useDomains();

describe('adding', () => {
  test('returns the records to publish, and lists the same domain', async () => {
    const { call, app } = await world();
    const host = newHost();
    const { status, body } = await call('POST', '', { host: ` ${host.toUpperCase()}. ` });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({
        app_id: app.id,
        host,
        host_unicode: host,
        status: 'pending',
        disconnected_for: null,
        records: [
          {
            type: 'TXT',
            name: `_svc-challenge.${host}`,
            purpose: 'ownership',
            value: expect.stringMatching(/^svc-verify=[0-9a-f]{40}$/),
          },
          { type: 'CNAME', name: host, value: `edge.${testAppsDomain}`, purpose: 'routing' },
        ],
        ownership: expect.objectContaining({ state: 'waiting', reason: 'not_checked', found: [] }),
        certificate: expect.objectContaining({
          state: 'ok',
          reason: 'not_configured',
          next_step: expect.stringContaining('This server issues no certificates'),
        }),
        url: `http://${host}:4400/`,
      }),
    ]);
    expect((await call('GET', '')).body).toEqual({ items: [body], page: 1, per_page: 50, total: 1 });
    expect((await call('GET', `/${body.id}`)).body).toEqual(body);
  });

  test('an apex host gets addresses instead of a CNAME', async () => {
    const { call } = await world();
    const host = newHost().replace('www.', '');
    const { body } = await call('POST', '', { host });
    expect(body.records.slice(1)).toEqual([
      { type: 'A', name: host, value: '192.0.2.10', purpose: 'routing' },
      { type: 'AAAA', name: host, value: '2001:db8::10', purpose: 'routing' },
    ]);
  });

  test('a host is added to an app once in any spelling, and another app can add it too', async () => {
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

  test('an app has at most fifty domains, also with concurrent requests', async () => {
    const { call, app, tenant } = await world();
    await sql`insert into svc.domains (id, app_id, tenant_id, host, token, status, ownership, routing, certificate,
        created_by, created_at, pending_since)
      select gen_random_uuid(), ${app.id}, ${tenant.id}, 'n' || n || ${`.${newHost()}`}, 't', 'pending', '{}', '{}', '{}',
        ${app.ownerId}, now(), now() from generate_series(1, ${domainsPerAppMax - 2}) n`.execute(database.db);
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('POST', '', { host: newHost() })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe('limit_reached');
  });

  test('owners add and verify, admins see and remove, members get 404', async () => {
    const { call, add, people } = await world();
    const id = await add(newHost());
    const by = async (person: keyof typeof people) => [
      (await call('GET', '', undefined, person)).status,
      (await call('POST', '', { host: newHost() }, person)).status,
      (await call('POST', `/${id}/verify`, undefined, person)).status,
    ];
    expect(await by('coOwner')).toEqual([200, 201, 200]);
    expect(await by('admin')).toEqual([200, 403, 403]);
    expect(await by('member')).toEqual([404, 404, 404]);
    expect((await call('DELETE', `/${id}`, undefined, 'admin')).status).toBe(204);
    expect((await call('DELETE', `/${id}`, undefined, 'admin')).status).toBe(404);
  });
});

describe('removing', () => {
  test('stops serving the host, and the next app needs a record of its own', async () => {
    const host = newHost();
    const { call, id } = await activeAt(host);
    const other = await world();
    const theirs = await other.add(host);
    expect((await call('DELETE', `/${id}`)).status).toBe(204);
    expect(await holdersOf(host)).toEqual([]);
    // The records of the previous app are still published.
    expect((await other.verify(theirs)).body.status).toBe('pending');
    expect(await holdersOf(host)).toEqual([]);
    const gone = await call('DELETE', `/${id}`);
    expect([gone.status, gone.body.code]).toEqual([404, 'not_found']);
  });

  test('a host that is added again gets a new record', async () => {
    const host = newHost();
    const { call, add, id, verify } = await activeAt(host);
    await call('DELETE', `/${id}`);
    const again = await add(host);
    expect((await verify(again)).body.ownership.reason).toBe('mismatch');
    await publish(again);
    expect((await verify(again)).body.status).toBe('active');
  });

  test('deleting an app detaches its hosts, and the plan lists them', async () => {
    const host = newHost();
    const { app, tenant, people } = await activeAt(host);
    const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
    const { result } = await testMutation(database.db, people.owner, (ctx) => deleteApp(ctx), {
      context,
      mode: 'preview',
    });
    expect(result.kind === 'previewed' && result.plan.changes).toContainEqual({
      path: 'domains',
      before: [host],
      after: [],
      effect: 'update',
    });
    expect(await holdersOf(host)).toEqual([app.id]);
    await testMutation(database.db, people.owner, (ctx) => deleteApp(ctx), { context });
    expect(await holdersOf(host)).toEqual([]);
  });
});
