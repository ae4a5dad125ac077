import { describe, expect, test } from 'bun:test';
import { patientMs } from '../scripts/patience.ts';
import { useFixture } from '../scripts/use-fixture.ts';
import { createClient } from '../sdk/src/main.ts';
import { expectFailure, svcFor } from './support/commands.ts';
import { bearer, caller, done, newMember, newTenant, type Person, tokenThrough } from './support/people.ts';
import { hasPostgres15 } from './support/postgres15.ts';
import { newRelease, newSite } from './support/sites.ts';
import { until } from './support/until.ts';
import { addWarehouse, salesOrders, startWarehouse, type WarehouseTenant } from './support/warehouses.ts';

const orders = 'warehouse/sales/orders:read';

describe.if(hasPostgres15)("the organisation's data in an app", () => {
  const warehouse = useFixture(
    () => startWarehouse('postgres', salesOrders),
    (it) => it.stop(),
  );

  /** An app of the tenant's member, which an admin has published with the approved scopes. */
  async function publishedApp(scopes: string[], approved = scopes) {
    const opened: WarehouseTenant = await addWarehouse(warehouse, await newTenant());
    const { t } = opened;
    const site = await newSite(undefined, t);
    const app = `${t.base}/apps/${site.app.id}`;
    await newRelease(site, { 'index.html': '<h1>Orders</h1>' }, { on_finalize: 'deploy' });
    await done(site.owner.call('PATCH', app, { data_scopes: approved }));
    const asked = await done(
      site.owner.call('POST', `${app}/publication-requests`, { visibility: 'public' }),
    );
    await done(t.admin.call('POST', `${t.base}/publication-requests/${asked.id}/approve`));
    await done(site.owner.call('PATCH', app, { data_scopes: scopes }));
    const visit = async (person: Person) => {
      const token = await tokenThrough(t.server, person, `${t.slug}/${site.app.slug}`);
      const { baseUrl } = t.server;
      const client = createClient({
        baseUrl,
        tenant: t.slug,
        app: site.app.slug,
        auth: { token: () => token },
      });
      return { token, call: caller(t.server, bearer({ token })), client };
    };
    const path = `/data/${t.slug}/_connectors/warehouse/sales/orders`;
    return { ...opened, site, app, visit, path };
  }

  test('is what each visitor has grants for, with their rows and masks', async () => {
    const { t, site, visit, grant, policy, path } = await publishedApp([orders]);
    const [all, some] = [await newMember(t), await newMember(t)];
    await grant(all);
    const europe = await policy({
      row_filter: 'region=eq.eu',
      columns: { mode: 'deny', names: ['total'] },
      masks: [{ column: 'email', kind: 'email' }],
    });
    await grant(some, { policy_ids: [europe] });
    const [forAll, forSome] = [await visit(all), await visit(some)];
    const table = forAll.client.connector('warehouse').table<{ id: number; email: string }>('sales/orders');
    expect((await table.sort('id').list()).data.map(({ id, email }) => [id, email])).toEqual([
      [1, 'ada@example.com'],
      [2, 'bob@example.com'],
      [3, 'zoe@example.com'],
    ]);
    expect([await table.count(), (await table.get(3)).row.email]).toEqual([3, 'zoe@example.com']);
    expect((await forSome.call('GET', path)).body.data).toEqual([
      { id: 1, region: 'eu', customer: 'Ada', email: 'a•••@example.com' },
      { id: 2, region: 'eu', customer: 'Bob', email: 'b•••@example.com' },
    ]);
    const iterated: number[] = [];
    const limited = forSome.client.connector('warehouse').table<{ id: number }>('sales/orders');
    for await (const { id } of limited.all()) iterated.push(id);
    expect(iterated).toEqual([1, 2]);
    // The scope has no export, although an app could offer one.
    const exported = await forAll.call('GET', path, undefined, { accept: 'application/x-ndjson' });
    expect([exported.status, exported.body.code]).toEqual([403, 'data_scope_missing']);
    expect(exported.body.detail).toContain('warehouse/sales/orders:export');
    const log = () => t.admin.call('GET', `${t.base}/access/log?connector=warehouse`);
    await until('the reads are in the access log', async () => (await log()).body.items.length > 0, 5_000);
    expect((await log()).body.items[0]).toMatchObject({
      through_app_id: site.app.id,
      through_app_slug: site.app.slug,
    });
    const svc = svcFor(t.server, { token: t.admin.token, tenant: t.slug });
    const { stdout } = await svc(['access', 'log', '--connector', 'warehouse']);
    expect([stdout.includes(` ${site.app.slug} `), stdout.includes(site.app.id)]).toEqual([true, false]);
  });

  test('is refused with a link to the filled form, and opens and closes with the grant', async () => {
    const { t, site, visit, path } = await publishedApp([orders]);
    const visitor = await newMember(t);
    const { call, client } = await visit(visitor);
    const table = client.connector('warehouse').table('sales/orders');
    const refused = await table.list().catch((error) => error);
    expect([refused.code, refused.status]).toEqual(['grant_missing', 403]);
    const form = new URL(refused.requestUrl);
    expect([form.origin, form.pathname]).toEqual([t.server.baseUrl, `/t/${t.slug}/grants/request`]);
    const fields = Object.fromEntries(form.searchParams);
    expect(fields).toMatchObject({ connector: 'warehouse', preset: 'reader', scope: 'sales/orders' });
    expect(fields.reason).toContain('For the app ');
    // A table that does not exist is refused alike, where the scope would cover it.
    expect((await call('GET', `${path}2`)).body.code).toBe('data_scope_missing');

    const request = await done(
      visitor.call('POST', `${t.base}/grant-requests`, {
        connector_id: fields.connector,
        preset_id: fields.preset,
        scope_resource_paths: [fields.scope],
        reason: fields.reason,
        duration_seconds: 8 * 3600,
      }),
    );
    const { grant_id } = await done(t.admin.call('POST', `${t.base}/grant-requests/${request.id}/approve`));
    await until('the rows are there', async () => (await call('GET', path)).status === 200, 5_000);
    expect((await table.list()).data).toHaveLength(3);
    await done(t.admin.call('POST', `${t.base}/grants/${grant_id}/revoke`));
    const revokedAt = performance.now();
    await until('the rows are gone', async () => (await call('GET', path)).status === 403, 5_000);
    expect(performance.now() - revokedAt).toBeLessThan(patientMs(1_000));

    // A scope that the owner takes back ends at once too.
    await done(site.owner.call('PATCH', `${t.base}/apps/${site.app.id}`, { data_scopes: [] }));
    await until(
      'the app has no scope',
      async () => (await call('GET', path)).body.code === 'data_scope_missing',
      5_000,
    );
  });

  test('ends when the grant expires', async () => {
    const { t, visit, grant, path } = await publishedApp(['warehouse/sales/*:read']);
    const visitor = await newMember(t);
    const { call } = await visit(visitor);
    // The grant and the first read come before its end, also on a busy machine.
    const endsAt = Date.now() + Math.max(2_000, patientMs(500));
    await grant(visitor, { expires_at: new Date(endsAt).toISOString() });
    expect((await call('GET', path)).status).toBe(200);
    await until('the rows are gone', async () => (await call('GET', path)).status === 403, 10_000);
    expect(Date.now() - endsAt).toBeWithin(-50, patientMs(1_000));
    expect((await call('GET', path)).body).toMatchObject({ code: 'grant_missing' });
  });

  test('needs an approved scope of the app; its owner can try out what it requests', async () => {
    const { t, site, visit, grant, path, app } = await publishedApp([orders], []);
    const visitor = await newMember(t);
    for (const person of [visitor, site.owner]) await grant(person);
    const [forVisitor, forOwner] = [await visit(visitor), await visit(site.owner)];
    const refused = await forVisitor.call('GET', path);
    expect([refused.status, refused.body.code]).toEqual([403, 'data_scope_missing']);
    expect(refused.body.detail).toContain('not approved yet');
    expect((await forOwner.call('GET', path)).status).toBe(200);

    const svc = svcFor(t.server, { token: site.owner.token, tenant: t.slug });
    const line = ['publish', '--app', site.app.slug, '--visibility', 'public'];
    const asked = (await svc([...line, '--execute', '--json'])).json<Record<string, unknown>>();
    expect(asked).toMatchObject({ status: 'pending', data_scopes: [orders], data_scopes_before: [] });
    const admins = svcFor(t.server, { token: t.admin.token, tenant: t.slug });
    expect((await admins(['review', 'show', String(asked.id)])).stdout).toContain(orders);
    expect((await admins(['review', 'approve', String(asked.id)])).stdout).toContain(orders);
    expect((await admins(['review', 'approve', String(asked.id), '--execute'])).code).toBe(0);
    expect(await done(site.owner.call('GET', app))).toMatchObject({
      approved_data_scopes: [orders],
      visibility: 'public',
    });
    await until('the rows are there', async () => (await forVisitor.call('GET', path)).status === 200, 5_000);
    await expectFailure(svc([...line, '--execute']), 6, 'not_wider');

    // What is added later waits for the next review, and an unknown connector is mentioned.
    const more = `${orders},wharehouse/*:read`;
    const update = await svc(['apps', 'update', site.app.slug, '--data-scopes', more]);
    expect(update.stdout + update.stderr).toContain('no connector wharehouse');
    expect(update.stdout + update.stderr).toContain('svc publish');
    await expectFailure(
      svc(['apps', 'update', site.app.slug, '--data-scopes', 'warehouse/sales:read']),
      7,
      'validation_failed',
    );
  });

  test('is listed for each person: tables, actions, masks, grants and their end', async () => {
    const { t, grant, policy } = await publishedApp([]);
    const masked = await policy({
      columns: { mode: 'deny', names: ['total'] },
      masks: [{ column: 'email', kind: 'email' }],
    });
    // Shown in whole hours, also some seconds later.
    const expires_at = new Date(Date.now() + 3_660_000).toISOString();
    const id = await grant(t.member, { policy_ids: [masked], expires_at });
    expect(await done(t.member.call('GET', `${t.base}/me/tables`))).toMatchObject({
      total: 1,
      items: [
        {
          connector_slug: 'warehouse',
          connector_name: 'Warehouse',
          path: 'sales/orders',
          actions: ['read'],
          columns: [
            { name: 'id', type: 'int', mask: null },
            { name: 'region', mask: null },
            { name: 'customer', mask: null },
            { name: 'email', mask: 'email' },
          ],
          masked_columns: ['email'],
          expires_at,
          grants: [{ id, preset_name: 'reader', group_name: '' }],
          problem: null,
        },
      ],
    });
    expect((await done(t.admin.call('GET', `${t.base}/me/tables`))).items).toEqual([]);
    const svc = svcFor(t.server, { token: t.member.token, tenant: t.slug });
    expect((await svc(['grants', 'tables', '--connector', 'warehouse'])).stdout).toMatch(
      /warehouse +sales\/orders +read +id, region, customer, email +email +reader +in (?:1 hour|5\d minutes)/,
    );
    expect((await svc(['grants', 'tables', '--connector', 'other', '--json'])).json()).toMatchObject({
      total: 0,
    });
    expect((await svc(['grants', 'mine'])).stdout).toContain('sales/orders (masked: email)');
    await done(t.admin.call('PATCH', `${t.base}/access-policies/${masked}`, { row_filter: 'gone=eq.1' }));
    expect((await done(t.member.call('GET', `${t.base}/me/tables`))).items).toMatchObject([
      { actions: [], columns: [], problem: expect.stringContaining('does not fit') },
    ]);
  });

  test('is also what the app itself and its service accounts have grants for', async () => {
    const { t, site, app, path, grant } = await publishedApp([]);
    const { id } = await done(
      site.owner.call('POST', `${app}/service-accounts`, { name: 'nightly', actions: ['rows'] }),
    );
    const issued = await done(
      site.owner.call('POST', `${app}/service-accounts/${id}/tokens`, { name: 'test' }),
    );
    const program = caller(t.server, bearer({ token: issued.secret }));
    expect((await program('GET', path)).status).toBe(404);
    await grant(t.member);
    expect((await program('GET', path)).status).toBe(404);
    await grant(t.member, { subject_kind: 'service_account', subject_id: id });
    expect((await program('GET', `${path}/_count`)).body).toEqual({ count: 3 });
    expect((await program('GET', path.replace('orders', 'others'))).status).toBe(404);
  });
});
