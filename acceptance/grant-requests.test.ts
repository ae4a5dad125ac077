import { describe, expect, test } from 'bun:test';
import { expectFailure, jsonOutput, svcFor } from './support/commands.ts';
import { queryDatabase } from './support/database.ts';
import { done, newApp, newMember, newTenant, type Person, type Tenant } from './support/people.ts';

const connector = (t: Tenant, fields: object = {}) =>
  done(
    t.admin.call('POST', `${t.base}/connectors`, {
      name: `c ${Bun.randomUUIDv7()}`,
      kind: 'http',
      ...fields,
    }),
  );

const ask = (t: Tenant, connectorId: string, fields: object = {}, by: Person = t.member) =>
  by.call('POST', `${t.base}/grant-requests`, {
    connector_id: connectorId,
    preset_id: 'reader',
    scope_resource_paths: ['sales/orders'],
    duration_seconds: 8 * 3600,
    reason: 'monthly report',
    ...fields,
  });

const titles = async (t: Tenant, person: Person) =>
  (await done(person.call('GET', `${t.base}/me/notifications`))).items.map(
    ({ kind }: { kind: string }) => kind,
  );

describe('a request for access', () => {
  test('is approved by an owner of the connector: the grant ends after the requested time', async () => {
    const t = await newTenant();
    const owner = await newMember(t);
    const { id, slug } = await connector(t, { owners: [owner.email] });
    const made = await ask(t, slug);
    expect([made.status, made.body]).toMatchObject([
      201,
      { status: 'pending', connector_slug: slug, preset_name: 'reader', can_decide: false, grant_id: null },
    ]);
    const path = `${t.base}/grant-requests/${made.body.id}`;
    for (const approver of [owner, t.admin]) {
      expect(await titles(t, approver)).toEqual(['access_requested']);
      expect(
        (await approver.call('GET', `${t.base}/grant-requests?view=to_decide`)).body.items,
      ).toMatchObject([{ id: made.body.id, can_decide: true, requested_by_email: t.member.email }]);
    }
    expect((await t.member.call('POST', `${path}/approve`)).body.code).toBe('forbidden');
    const own = await done(ask(t, slug, {}, owner));
    const refused = await owner.call('POST', `${t.base}/grant-requests/${own.id}/approve`);
    expect([refused.status, refused.body.code]).toEqual([403, 'self_approval']);
    expect((await (await newMember(t)).call('POST', `${path}/approve`)).status).toBe(404);

    const preview = await done(owner.call('POST', `${path}/approve?dry_run=true`));
    const approved = await owner.call(
      'POST',
      `${path}/approve`,
      { reason: 'fine' },
      { 'if-plan': preview.plan.fingerprint },
    );
    // Another reason is another plan.
    expect(approved.status).toBe(409);
    const decided = await done(
      owner.call('POST', `${path}/approve`, undefined, { 'if-plan': preview.plan.fingerprint }),
    );
    expect(decided).toMatchObject({ status: 'approved', decided_by_email: owner.email });
    const [grant] = (await t.member.call('GET', `${t.base}/me/grants`)).body;
    expect(grant).toMatchObject({
      id: decided.grant_id,
      connector_id: id,
      source: 'request',
      granted_by: owner.id,
      scope_resource_paths: ['sales/orders'],
      reason: 'monthly report',
    });
    expect(Date.parse(grant.expires_at) - Date.parse(grant.granted_at)).toBe(8 * 3600_000);
    expect(await titles(t, t.member)).toEqual(['access_approved']);
    expect((await owner.call('POST', `${path}/approve`)).body.code).toBe('settled');
    const terms = await done(t.member.call('GET', `${t.base}/me/grants/terms`));
    expect(terms.people).toMatchObject([{ id: owner.id, email: owner.email }]);
  });

  test('is approved with policies by id or name, and the preview names those that are left out', async () => {
    const t = await newTenant();
    const owner = await newMember(t);
    const [own, other] = [await connector(t, { owners: [owner.id] }), await connector(t)];
    const policy = (name: string, fields: object = {}) =>
      done(t.admin.call('POST', `${t.base}/access-policies`, { name, connector_id: own.id, ...fields }));
    const region = await policy('own region', { resource_path: 'sales/orders', row_filter: 'region=eq.eu' });
    const anywhere = await policy('anywhere', { connector_id: '' });
    await policy('salaries', { resource_path: 'hr' });
    await policy('exports', { actions: ['export'] });
    await policy('strict', { enforced: true });
    await policy('off', { enabled: false });
    await policy('elsewhere', { connector_id: other.id });
    const { id } = await done(ask(t, own.id));
    const path = `${t.base}/grant-requests/${id}`;
    expect((await t.member.call('GET', `${path}/policies`)).status).toBe(403);
    const offered = (await done(owner.call('GET', `${path}/policies`))).items;
    expect(
      offered.map(({ name, applies, enforced }: Record<string, unknown>) => [name, applies, enforced]),
    ).toEqual([
      ['anywhere', true, false],
      ['exports', false, false],
      ['own region', true, false],
      ['salaries', false, false],
      ['strict', true, true],
    ]);
    const warnings = async (policy_ids: string[]) =>
      (await done(owner.call('POST', `${path}/approve?dry_run=true`, { policy_ids }))).plan.warnings;
    expect(await warnings([])).toEqual([
      'Not attached: “anywhere”, “own region”. The grant shows the rows and values that these policies hide.',
    ]);
    expect(await warnings(['anywhere'])).toEqual([
      'Not attached: “own region”. The grant shows the rows and values that this policy hides.',
    ]);
    expect(await warnings([region.id.toUpperCase(), 'anywhere', 'own region'])).toEqual([]);
    // An owner who is no admin learns nothing about policies of other connectors.
    for (const unknown of ['elsewhere', 'invented', other.id]) {
      const refused = await owner.call('POST', `${path}/approve`, { policy_ids: ['anywhere', unknown] });
      expect([refused.status, refused.body.errors]).toMatchObject([
        400,
        [{ code: 'unknown_policy', detail: `no policy for ${own.slug} has this id or name: ${unknown}` }],
      ]);
    }
    const decided = await done(
      owner.call('POST', `${path}/approve`, { policy_ids: ['own region', anywhere.id] }),
    );
    const grant = await done(t.admin.call('GET', `${t.base}/grants/${decided.grant_id}`));
    expect(grant.policy_ids).toEqual([region.id, anywhere.id]);
  });

  test('is rejected with a reason, or withdrawn by the requester', async () => {
    const t = await newTenant();
    const { id } = await connector(t);
    const first = (await ask(t, id)).body;
    expect((await ask(t, id)).body.code).toBe('grant_request_open');
    const one = `${t.base}/grant-requests/${first.id}`;
    expect((await t.admin.call('POST', `${one}/reject`, {})).status).toBe(400);
    expect((await t.admin.call('POST', `${one}/withdraw`)).status).toBe(403);
    expect(await done(t.admin.call('POST', `${one}/reject`, { reason: 'not now' }))).toMatchObject({
      status: 'rejected',
      decision_reason: 'not now',
    });
    expect(await titles(t, t.member)).toEqual(['access_rejected']);
    const second = (await ask(t, id)).body;
    expect(await done(t.member.call('POST', `${t.base}/grant-requests/${second.id}/withdraw`))).toMatchObject(
      { status: 'withdrawn' },
    );
    const own = await done(t.member.call('GET', `${t.base}/grant-requests?view=mine`));
    expect(own.items.map(({ status }: { status: string }) => status)).toEqual(['withdrawn', 'rejected']);
    expect((await t.member.call('GET', `${t.base}/me/grants`)).body).toEqual([]);
  });

  test('is refused above the longest time, and approved at once below it where the connector says so', async () => {
    const t = await newTenant();
    const { id } = await connector(t);
    const path = `${t.base}/connectors/${id}`;
    expect((await t.admin.call('PATCH', path, { auto_approve: true })).status).toBe(400);
    const preview = await done(
      t.admin.call('PATCH', `${path}?dry_run=true`, { auto_approve: true, max_duration_seconds: 3600 }),
    );
    expect(preview.plan.warnings[0]).toContain('Every member');
    await done(t.admin.call('PATCH', path, { auto_approve: true, max_duration_seconds: 3600 }));
    const long = await ask(t, id);
    expect([long.status, long.body.code, long.body.detail]).toEqual([
      409,
      'duration_exceeded',
      expect.stringContaining('at most 1 hour'),
    ]);
    const made = await done(ask(t, id, { duration_seconds: 3600 }));
    expect(made).toMatchObject({ status: 'approved', decided_by: null });
    expect((await t.member.call('GET', `${t.base}/me/grants`)).body).toMatchObject([
      { id: made.grant_id, source: 'request' },
    ]);
    expect(await titles(t, t.admin)).toEqual([]);
  });

  test('ends when the connector is deleted or the requester leaves', async () => {
    const t = await newTenant();
    const [kept, gone] = [await connector(t, { owners: [t.member.id] }), await connector(t)];
    const [first, second] = [(await ask(t, kept.id)).body, (await ask(t, gone.id)).body];
    await t.admin.call('DELETE', `${t.base}/connectors/${gone.id}`);
    const show = async (id: string) => (await t.admin.call('GET', `${t.base}/grant-requests/${id}`)).body;
    expect(await show(second.id)).toMatchObject({
      status: 'withdrawn',
      decision_reason: 'The connector was deleted.',
    });
    await t.admin.call('DELETE', `${t.base}/members/${t.member.id}`);
    expect(await show(first.id)).toMatchObject({
      status: 'withdrawn',
      decision_reason: 'The member was removed.',
    });
    expect((await t.admin.call('GET', `${t.base}/connectors/${kept.id}`)).body.owners).toEqual([]);
  });

  test('is made and decided with svc', async () => {
    const t = await newTenant();
    const { slug } = await connector(t);
    const [asMember, asAdmin] = [t.member, t.admin].map(({ token }) =>
      svcFor(t.server, { token, tenant: t.slug }),
    );
    const line = ['grants', 'request', '--connector', slug, '--preset', 'reader', '--expires-in', '8h'];
    const { plan } = await jsonOutput(asMember!, ...line, '--reason', 'report');
    expect(plan.operation).toBe('grantRequests.create');
    const ran = await asMember!([...line, '--reason', 'report', '--execute', '--json']);
    const { id } = ran.json();
    expect(ran.stderr).toContain(`svc grants requests show ${id}`);
    expect((await asAdmin!(['grants', 'requests', 'list', '--view', 'to_decide'])).stdout).toContain('8h');
    await expectFailure(
      asMember!(['grants', 'requests', 'approve', String(id), '--execute']),
      4,
      'forbidden',
    );
    const policy = ['--name', 'own region', '--connector', slug, '--row-filter', 'region=eq.eu', '--execute'];
    await asAdmin!(['policies', 'create', ...policy]);
    const offered = await asAdmin!(['grants', 'requests', 'policies', String(id)]);
    expect(offered.stdout).toContain('own region');
    const approve = ['grants', 'requests', 'approve', String(id)];
    expect((await asAdmin!(approve)).stdout).toContain('Not attached: “own region”');
    const approved = await asAdmin!([...approve, '--policy', 'own region', '--execute']);
    expect([approved.code, approved.stdout]).toEqual([0, expect.stringContaining('approved')]);
    expect((await asAdmin!(['grants', 'list', '--policy', 'own region'])).stdout).toContain('own region');
    const mine = (await asMember!(['grants', 'mine'])).stdout;
    expect(mine).toContain(slug);
    expect(mine).toContain(t.admin.email);
  });
});

test('apps and service accounts have grants of their own, which end with them', async () => {
  const t = await newTenant();
  const { id } = await connector(t);
  const app = await newApp(t, { owner: t.admin });
  const account = await done(
    t.admin.call('POST', `${app.base}/service-accounts`, { name: 'ci', actions: ['rows'] }),
  );
  const grant = (subject_kind: string, subject_id: string) =>
    t.admin.call('POST', `${t.base}/grants`, {
      subject_kind,
      subject_id,
      connector_id: id,
      preset_id: 'reader',
    });
  const ofApp = await done(grant('app', app.slug));
  const ofAccount = await done(grant('service_account', `${app.slug}/ci`));
  const again = await done(grant('service_account', account.id));
  expect([ofApp.subject_id, ofAccount.subject_id, again.subject_id]).toEqual([
    app.id,
    account.id,
    account.id,
  ]);
  for (const [kind, ref] of [
    ['app', 'no-such-app'],
    ['service_account', `${app.slug}/none`],
    ['app', account.id],
  ] as const)
    expect((await grant(kind, ref)).status).toBe(400);
  const statusOf = async (one: { id: string }) =>
    (await t.admin.call('GET', `${t.base}/grants/${one.id}`)).body.status;
  await done(t.admin.call('DELETE', `${app.base}/service-accounts/${account.id}`));
  expect([await statusOf(ofAccount), await statusOf(again), await statusOf(ofApp)]).toEqual([
    'revoked',
    'revoked',
    'active',
  ]);
  await done(t.admin.call('DELETE', app.base));
  await done(t.admin.call('POST', `${app.base}/purge`));
  expect(await statusOf(ofApp)).toBe('revoked');
});

test('the access log is for admins, and for owners of a connector about their connector', async () => {
  const t = await newTenant();
  const owner = await newMember(t);
  const { id, slug } = await connector(t, { owners: [owner.id] });
  await queryDatabase(
    t.server,
    `insert into svc.access_log (tenant_id, at, actor_kind, actor_id, actor_name, connector_id, resource_path, action,
      columns, masked_columns, rows, grant_ids, policy_ids, request_id)
    select '${t.id}', now() - make_interval(mins => i), 'user', '${t.member.id}', '${t.member.email}', '${id}',
      case when i < 2 then 'sales/orders' else 'hr/people' end, 'read', '{id,name}', '{name}', i, '{}', '{}', 'r' || i
    from generate_series(1, 3) i`,
  );
  const log = (person: Person, query = '') => person.call('GET', `${t.base}/access/log${query}`);
  const requests = async (query: string) =>
    (await done(log(t.admin, query))).items.map(({ request_id }: { request_id: string }) => request_id);
  expect(await requests('')).toEqual(['r1', 'r2', 'r3']);
  expect(await requests('?path=hr')).toEqual(['r2', 'r3']);
  expect(
    await requests(`?user=${encodeURIComponent(t.member.email)}&connector=${slug}&path=sales/orders`),
  ).toEqual(['r1']);
  expect(await requests(`?user=${t.admin.id}`)).toEqual([]);
  expect(await requests(`?to=${new Date(Date.now() - 90_000).toISOString()}`)).toEqual(['r2', 'r3']);
  const page = await done(log(t.admin, '?per_page=2'));
  expect((await done(log(t.admin, `?per_page=2&cursor=${page.next_cursor}`))).items).toMatchObject([
    { request_id: 'r3', columns: ['id', 'name'], masked_columns: ['name'], rows: 3 },
  ]);
  expect([(await log(t.member)).status, (await log(owner)).status]).toEqual([403, 403]);
  expect((await log(t.member, `?connector=${slug}`)).status).toBe(403);
  expect((await done(log(owner, `?connector=${slug}`))).items).toHaveLength(3);
  const svc = svcFor(t.server, { token: t.admin.token, tenant: t.slug });
  const csv = await svc(['access', 'log', '--path', 'hr/people', '--all', '-o', 'csv']);
  expect(csv.stdout.trim().split('\n')).toHaveLength(3);
});
