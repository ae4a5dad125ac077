import { describe, expect, test } from 'bun:test';
import { jsonOutput, svcFor } from './support/commands.ts';
import { queryDatabase } from './support/database.ts';
import { done, newTenant, type Tenant } from './support/people.ts';

async function connector(t: Tenant): Promise<string> {
  const made = await t.admin.call('POST', `${t.base}/connectors`, {
    name: `c ${Bun.randomUUIDv7()}`.slice(0, 60),
    kind: 'http',
  });
  expect(made.status).toBe(201);
  return made.body.id;
}

async function grant(t: Tenant, fields: Record<string, unknown> = {}) {
  const body = { subject_id: t.member.id, connector_id: await connector(t), preset_id: 'reader', ...fields };
  return t.admin.call('POST', `${t.base}/grants`, body);
}

async function expiredGrant(t: Tenant) {
  const made = await grant(t, { expires_at: new Date(Date.now() + 3_600_000).toISOString() });
  await queryDatabase(
    t.server,
    `update svc.grants set expires_at = now() - interval '1 minute' where id = $1`,
    [made.body.id],
  );
  const found = await t.admin.call('GET', `${t.base}/grants/${made.body.id}`);
  expect(found.body.status).toBe('expired');
  return made;
}

const fieldOrder =
  `id tenant_id subject_id subject_kind connector_id preset_id policy_ids scope_resource_paths status
  reason source granted_by granted_at expires_at revoked_by revoked_at created_at updated_at`.split(/\s+/);

describe('GET me/grants', () => {
  test('returns a bare array of the 18 fields in their order, newest first', async () => {
    const t = await newTenant();
    const first = await grant(t, { reason: 'first' });
    const second = await grant(t, {
      reason: 'second',
      scope_resource_paths: ['sales/orders', 'sales/orders', 'crm'],
    });
    const mine = await t.member.call('GET', `${t.base}/me/grants`);
    expect(mine.status).toBe(200);
    expect(mine.body.map((item: { id: string }) => item.id)).toEqual([second.body.id, first.body.id]);
    expect(Object.keys(mine.body[0])).toEqual(fieldOrder);
    expect(mine.body[0].scope_resource_paths).toEqual(['sales/orders', 'crm']);
    expect(mine.body[0].expires_at).toBe('');
    expect(mine.headers.get('x-request-id')).toBeTruthy();
  });

  test('shows neither revoked nor expired grants, nor those of others', async () => {
    const t = await newTenant();
    const { body } = await grant(t);
    await t.admin.call('POST', `${t.base}/grants/${body.id}/revoke`, {});
    await grant(t, { subject_id: t.admin.id });
    await expiredGrant(t);
    expect((await t.member.call('GET', `${t.base}/me/grants`)).body).toEqual([]);
  });

  test('answers 401 without a credential, and outsiders the same 403 for a tenant that exists and one that does not', async () => {
    const t = await newTenant();
    expect((await fetch(`${t.server.baseUrl}${t.base}/me/grants`)).status).toBe(401);
    const exists = await t.outsider.call('GET', `${t.base}/me/grants`);
    const absent = await t.outsider.call('GET', `/api/v1/tenants/${Bun.randomUUIDv7()}/me/grants`);
    const nonsense = await t.outsider.call('GET', '/api/v1/tenants/no-such-tenant/me/grants');
    for (const answer of [exists, absent, nonsense]) {
      expect(answer.status).toBe(403);
      expect({ ...answer.body, request_id: '' }).toEqual({ ...exists.body, request_id: '' });
    }
  });

  test('accepts the tenant by slug as well as by id', async () => {
    const t = await newTenant();
    expect((await t.member.call('GET', `/api/v1/tenants/${t.slug}/me/grants`)).status).toBe(200);
  });
});

describe('PUT grant scope', () => {
  test('replaces the whole scope, by a bare array or an object; an empty one restores the whole connector', async () => {
    const t = await newTenant();
    const { body } = await grant(t, { scope_resource_paths: ['a'] });
    const path = `${t.base}/grants/${body.id}/scope`;
    expect((await t.admin.call('PUT', path, ['b', 'c/d', 'b'])).body.scope_resource_paths).toEqual([
      'b',
      'c/d',
    ]);
    const asObject = await t.admin.call('PUT', path, { scope_resource_paths: ['e'] });
    expect([asObject.status, asObject.body.scope_resource_paths]).toEqual([200, ['e']]);
    expect((await t.admin.call('PUT', path, [])).body.scope_resource_paths).toEqual([]);
  });

  test('accepts 200 entries after duplicates are removed, and not one more', async () => {
    const t = await newTenant();
    const { body } = await grant(t);
    const path = `${t.base}/grants/${body.id}/scope`;
    const many = Array.from({ length: 200 }, (_, i) => `s/${i}`);
    expect((await t.admin.call('PUT', path, [...many, ...many])).status).toBe(200);
    const tooMany = await t.admin.call('PUT', path, [...many, 's/200']);
    expect([tooMany.status, tooMany.body.code]).toEqual([400, 'validation_failed']);
  });

  test('answers 409 grant_not_active for a revoked and for an expired grant', async () => {
    const t = await newTenant();
    const revoked = await grant(t);
    await t.admin.call('POST', `${t.base}/grants/${revoked.body.id}/revoke`);
    const brief = await expiredGrant(t);
    for (const { body } of [revoked, brief]) {
      const answer = await t.admin.call('PUT', `${t.base}/grants/${body.id}/scope`, ['x']);
      expect([answer.status, answer.body.code]).toEqual([409, 'grant_not_active']);
    }
  });

  test('refuses an invalid scope, naming the entry', async () => {
    const t = await newTenant();
    const { body } = await grant(t);
    for (const bad of [
      ['a/b/c'],
      [''],
      [1],
      'a',
      { scope: [] },
      null,
      { scope_resource_paths: ['a'], more: 1 },
    ]) {
      const answer = await t.admin.call('PUT', `${t.base}/grants/${body.id}/scope`, JSON.stringify(bad));
      expect([JSON.stringify(bad), answer.status, answer.body.code]).toEqual([
        JSON.stringify(bad),
        400,
        'validation_failed',
      ]);
    }
    const named = await t.admin.call('PUT', `${t.base}/grants/${body.id}/scope`, ['ok', 'a/b/c']);
    expect(named.body.errors[0].field).toBe('1');
  });

  test("an unknown grant, and another tenant's, is 404 to an admin", async () => {
    const [t, other] = await Promise.all([newTenant(), newTenant()]);
    const theirs = await grant(other);
    for (const id of [Bun.randomUUIDv7(), theirs.body.id, 'nonsense']) {
      expect((await t.admin.call('PUT', `${t.base}/grants/${id}/scope`, [])).status).toBe(404);
    }
  });
});

describe('access policies', () => {
  test('are created, read, replaced, changed and deleted, with a version that guards against lost changes', async () => {
    const t = await newTenant();
    const path = `${t.base}/access-policies`;
    const made = await t.admin.call('POST', path, {
      name: 'eu only',
      row_filter: 'region=eq.eu',
      columns: { mode: 'deny', names: ['salary'] },
      masks: [{ column: 'email', kind: 'partial', args: { first: 2 } }],
    });
    expect(made.status).toBe(201);
    expect(Object.keys(made.body)).toEqual(
      `id tenant_id name description connector_id resource_path actions row_filter columns masks enabled enforced version
       created_by created_at updated_by updated_at`.split(/\s+/),
    );
    const one = `${path}/${made.body.id}`;
    expect((await t.admin.call('GET', one)).body).toEqual(made.body);
    const etag = made.headers.get('etag')!;
    expect(made.headers.get('location')).toBe(one);
    const unchanged = await t.admin.call('GET', one, undefined, { 'if-none-match': etag });
    expect([unchanged.status, unchanged.body, unchanged.headers.get('etag')]).toEqual([304, '', etag]);
    const patched = await t.admin.call('PATCH', one, { enabled: false }, { 'if-match': etag });
    expect([patched.status, patched.body.enabled, patched.body.version]).toEqual([200, false, 2]);
    const stale = await t.admin.call('PATCH', one, { enabled: true }, { 'if-match': etag });
    expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed']);
    const replaced = await t.admin.call('PUT', one, { name: 'eu only' });
    expect([replaced.body.row_filter, replaced.body.masks, replaced.body.enabled]).toEqual(['', [], true]);
    expect((await t.admin.call('GET', path)).body.total).toBe(1);
    expect((await t.admin.call('DELETE', one)).status).toBe(204);
    expect((await t.admin.call('DELETE', one)).status).toBe(404);
  });

  test('are refused with an invalid filter or column list: 400 with the field', async () => {
    const t = await newTenant();
    const path = `${t.base}/access-policies`;
    const { id } = (await t.admin.call('POST', path, { name: 'p', row_filter: 'a=eq.1' })).body;
    for (const [fields, field] of [
      [{ row_filter: 'zzz(' }, 'row_filter'],
      [{ columns: { mode: 'deny', names: ['a', 'a'] } }, 'columns'],
      [{ columns: { mode: 'deny', names: [' '] } }, 'columns.names.0'],
    ] as const) {
      const body = { name: 'q', ...fields };
      for (const answer of [
        await t.admin.call('POST', path, body),
        await t.admin.call('POST', `${path}?dry_run=true`, body),
        await t.admin.call('PUT', `${path}/${id}`, body),
        await t.admin.call('PATCH', `${path}/${id}`, fields),
      ])
        expect([answer.status, answer.body.code, answer.body.errors]).toMatchObject([
          400,
          'validation_failed',
          [{ field }],
        ]);
    }
    const svc = svcFor(t.server, { token: t.admin.token, tenant: t.slug });
    const line = ['policies', 'create', '--name', 'q', '--row-filter', 'zzz('];
    for (const more of [[], ['--execute']]) expect((await svc([...line, ...more])).code).toBe(7);
    expect((await t.admin.call('GET', path)).body.total).toBe(1);
  });

  test('a policy of an active grant cannot be deleted: 409 policy_in_use', async () => {
    const t = await newTenant();
    const policy = await t.admin.call('POST', `${t.base}/access-policies`, { name: 'p' });
    const { body } = await grant(t, { policy_ids: [policy.body.id] });
    const path = `${t.base}/access-policies/${policy.body.id}`;
    const refused = await t.admin.call('DELETE', path);
    expect([refused.status, refused.body.code]).toEqual([409, 'policy_in_use']);
    await t.admin.call('POST', `${t.base}/grants/${body.id}/revoke`);
    expect((await t.admin.call('DELETE', path)).status).toBe(204);
  });
});

test('policies are named by id or name, and shown with the names of what they refer to', async () => {
  const t = await newTenant();
  const connector = await done(
    t.admin.call('POST', `${t.base}/connectors`, { name: 'Warehouse', slug: 'warehouse', kind: 'http' }),
  );
  const { id } = await done(
    t.admin.call('POST', `${t.base}/access-policies`, { name: 'own/region, eu', connector_id: 'warehouse' }),
  );
  const path = `${t.base}/access-policies/${encodeURIComponent('own/region, eu')}`;
  expect((await t.admin.call('GET', path)).body.id).toBe(id);
  await done(t.admin.call('PATCH', path, { name: 'own region' }));
  expect((await t.admin.call('GET', path)).status).toBe(404);
  const grant = (policy_ids: string[]) =>
    t.admin.call('POST', `${t.base}/grants`, {
      subject_id: t.member.id,
      connector_id: 'warehouse',
      preset_id: 'reader',
      policy_ids,
    });
  const refused = await grant(['own region', 'Own region']);
  expect([refused.status, refused.body.errors]).toMatchObject([
    400,
    [
      {
        field: 'policy_ids',
        code: 'unknown_policy',
        detail: 'no policy of this tenant has this id or name: Own region',
      },
    ],
  ]);
  expect((await grant(['own region', id])).body.policy_ids).toEqual([id]);
  const listed = await done(t.admin.call('GET', `${t.base}/grants?policy_id=own%20region`));
  expect(listed.items).toHaveLength(1);
  expect((await done(t.admin.call('GET', `${t.base}/grants?policy_id=none`))).items).toEqual([]);

  const svc = svcFor(t.server, { token: t.admin.token, tenant: t.slug });
  const shown = (await svc(['policies', 'list'])).stdout;
  expect(shown).toContain('warehouse');
  expect(shown).not.toContain(connector.id);
  expect((await jsonOutput(svc, 'policies', 'list')).items).toMatchObject([{ connector_id: connector.id }]);
  expect((await svc(['policies', 'get', 'own region'])).stdout).toContain(t.admin.email);
  expect((await svc(['grants', 'get', listed.items[0].id])).stdout).toContain('own region');
  const disabled = await svc(['policies', 'update', 'own region', '--enabled=false', '--execute', '--json']);
  expect(disabled.json()).toMatchObject({ id, enabled: false });
});

test('a policy as the command line prints it can be edited and sent back', async () => {
  const t = await newTenant();
  const svc = svcFor(t.server, { token: t.admin.token, tenant: t.slug });
  const made = (
    await svc(['policies', 'create', '--name', 'p', '--row-filter', 'a=eq.1', '--execute', '--json'])
  ).json();
  const printed = (await svc(['policies', 'get', String(made.id), '-o', 'yaml'])).stdout;
  const sent = await svc(['policies', 'update', String(made.id), '--from-file', '-', '--execute', '--json'], {
    stdin: printed.replace('a=eq.1', 'a=eq.2'),
  });
  expect([sent.code, sent.json().row_filter]).toEqual([0, 'a=eq.2']);
});

describe('access check', () => {
  test('returns the grants and policies of a decision, or the reason of a refusal', async () => {
    const t = await newTenant();
    const policy = await t.admin.call('POST', `${t.base}/access-policies`, { name: 'p', actions: ['read'] });
    const { body } = await grant(t, { scope_resource_paths: ['sales'], policy_ids: [policy.body.id] });
    const ask = (action: string, resource_path: string) =>
      t.member.call('POST', `${t.base}/access/check`, {
        subject_id: t.member.id,
        connector_id: body.connector_id,
        action,
        resource_path,
      });
    expect((await ask('read', 'sales/orders')).body).toEqual({
      allowed: true,
      grant_ids: [body.id],
      group_ids: [],
      policy_ids: [policy.body.id],
      reason: 'granted',
    });
    expect((await ask('read', 'salesforce')).body.reason).toBe('out_of_scope');
    expect((await ask('read', '')).body.reason).toBe('out_of_scope');
    expect((await ask('write', 'sales')).body.reason).toBe('action_not_in_preset');
  });

  test('members ask about themselves only, admins about anyone', async () => {
    const t = await newTenant();
    const question = { subject_id: t.admin.id, connector_id: await connector(t), action: 'read' };
    expect((await t.member.call('POST', `${t.base}/access/check`, question)).status).toBe(403);
    const answer = await t.admin.call('POST', `${t.base}/access/check`, {
      ...question,
      subject_id: t.member.email,
    });
    expect([answer.status, answer.body.reason]).toEqual([200, 'no_active_grant']);
  });
});

test('access check answers for apps and service accounts', async () => {
  const t = await newTenant();
  const app = await done(t.admin.call('POST', `${t.base}/apps`, { name: 'Lunch', slug: 'lunch' }));
  const account = { name: 'ci', actions: ['rows'] };
  await done(t.admin.call('POST', `${t.base}/apps/lunch/service-accounts`, account));
  const { body } = await grant(t, { subject_kind: 'app', subject_id: app.id });
  const other = await grant(t, {
    subject_kind: 'service_account',
    subject_id: 'lunch/ci',
    connector_id: body.connector_id,
  });
  const svc = svcFor(t.server, { token: t.admin.token, tenant: t.id });
  const check = async (...subject: string[]) =>
    (
      await svc([
        'access',
        'check',
        ...subject,
        '--connector',
        body.connector_id,
        '--action',
        'read',
        '--json',
      ])
    ).json();
  expect(await check('--app', 'lunch')).toMatchObject({ allowed: true, grant_ids: [body.id] });
  expect(await check('--service-account', 'lunch/ci')).toMatchObject({ grant_ids: [other.body.id] });
  expect(await check('--app', 'dinner')).toMatchObject({ allowed: false, reason: 'no_active_grant' });
  const asMember = {
    subject_kind: 'app',
    subject_id: app.id,
    connector_id: body.connector_id,
    action: 'read',
  };
  expect((await t.member.call('POST', `${t.base}/access/check`, asMember)).status).toBe(403);
});
