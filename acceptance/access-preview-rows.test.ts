import { beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { svcFor } from './support/commands.ts';
import { bearer, caller, done, newMember, type Person, tokenThrough } from './support/people.ts';
import { type PreviewWorld, previewWorld } from './support/preview-world.ts';
import { temporaryFolder } from './support/server.ts';

let world: PreviewWorld;
let t: PreviewWorld['t'];
beforeAll(async () => {
  world = await previewWorld();
  t = world.t;
});

describe('five rows as the person sees them', () => {
  test('are shown only as far as the asker sees them', async () => {
    const [ada, asker] = [await newMember(t), await newMember(t)];
    const mask = { masks: [{ column: 'email', kind: 'email' }] };
    const filter = { row_filter: 'region=in.(eu,us)' };
    await world.grant(ada, { policy_ids: [await world.policy('Masked', { ...mask, ...filter })] });
    const answer = await world.preview(ada);
    expect(answer.body.rows).toEqual({ visible: 4, all: 5 });
    expect(answer.body.sample).toEqual([]);
    expect(answer.body.sample_withheld).toContain('no access to them yourself');
    expect(answer.text).not.toContain('example.com"');
    expect((await world.preview(ada, {}, asker)).status).toBe(403);
    // An owner of the connector with a grant of their own: another mask, no column total, one row less.
    const owners = { owners: [asker.email] };
    await done(t.admin.call('PATCH', `${t.base}/connectors/warehouse`, owners));
    const own = { row_filter: 'id=neq.1', columns: { mode: 'deny', names: ['total'] } };
    await world.grant(asker, {
      policy_ids: [await world.policy('Asker', { ...own, masks: [{ column: 'customer', kind: 'hash' }] })],
    });
    const shared = (await world.preview(ada, {}, asker)).body;
    await done(t.admin.call('PATCH', `${t.base}/connectors/warehouse`, { owners: [] }));
    expect(shared.withheld_columns).toEqual(['customer', 'total']);
    expect(shared.sample.map((row: { id: number }) => row.id)).toEqual([2, 3, 4]);
    expect(shared.sample[0]).toMatchObject({ email: 'b•••@example.com', customer: null, total: null });
    const log = await done(t.admin.call('GET', `${t.base}/access/log?user=${asker.id}`));
    expect(log.items[0]).toMatchObject({ action: 'preview', resource_path: 'shop/orders', rows: 3 });
  });

  test('are not shown where the filter compares what the asker cannot see', async () => {
    const [ada, admin] = [await newMember(t), t.admin];
    await world.grant(ada, { policy_ids: [await world.policy('Rich', { row_filter: 'total=gt.20' })] });
    const id = await world.grant(admin, {
      policy_ids: [await world.policy('No totals', { columns: { mode: 'deny', names: ['total'] } })],
    });
    const answer = (await world.preview(ada)).body;
    await done(admin.call('POST', `${t.base}/grants/${id}/revoke`, {}));
    expect([answer.rows.visible, answer.sample]).toEqual([3, []]);
    expect(answer.sample_withheld).toContain('columns that you cannot see');
  });
});

test('a policy is tried without being saved: a changed one, a new one, and one that does not fit', async () => {
  const ada = await newMember(t);
  const id = await world.policy('Tried', { row_filter: 'region=eq.eu' });
  const unused = await world.policy('Unused', {});
  await world.grant(ada, { policy_ids: [id] });
  const before = await done(t.admin.call('GET', `${t.base}/access-policies/${id}`));
  const visible = async (tried: object) => (await world.preview(ada, { policy: tried })).body.rows?.visible;
  expect(await visible({ id, row_filter: 'region=eq.us&id=eq.3' })).toBe(1);
  expect(await visible({ name: 'Tried', row_filter: '' })).toBe(5);
  expect(await visible({ name: 'Brand new', row_filter: 'id=eq.1' })).toBe(1);
  expect(await visible({ name: 'Brand new', row_filter: 'id=eq.3' })).toBe(0);
  expect(await visible({ name: 'For all', row_filter: 'id=eq.2', enforced: true })).toBe(1);
  expect((await world.preview(ada, { policy: { name: 'x', row_filter: '((' } })).status).toBe(400);
  const said = async (tried: object) => (await world.preview(ada, { policy: tried })).body.text;
  const notSaved = 'is tried without being saved';
  expect(await said({ name: 'x', row_filter: 'gone=eq.1' })).toBe(
    `The policy “x” ${notSaved}. The policy “x” does not fit the table: it uses the column “gone”, which the table does not have. Correct the policy before you save it.`,
  );
  expect(await said({ name: 'x', row_filter: 'id=eq.1' })).toStartWith(
    `The policy “x” ${notSaved}. ${ada.email} sees 1 of 5 rows`,
  );
  for (const [tried, why] of [
    [{ name: 'x', row_filter: 'a=eq.1', resource_path: 'shop/empty' }, 'it is for shop/empty'],
    [{ name: 'x', row_filter: 'id=eq.1', enabled: false }, 'it is disabled'],
    [{ id: unused, row_filter: 'id=eq.1' }, `no grant that opens the table to ${ada.email} names it`],
  ] as const) {
    const text = await said(tried);
    expect(text).toContain(`${notSaved}, but does not apply here: ${why}`);
    expect(text).toContain(`${ada.email} sees 2 of 5 rows`);
  }
  expect((await world.preview(ada, { policy: { row_filter: '' } }, ada)).status).toBe(403);
  expect(await done(t.admin.call('GET', `${t.base}/access-policies/${id}`))).toEqual(before);
  const { items } = await done(t.admin.call('GET', `${t.base}/access-policies?per_page=100`));
  expect(items.map(({ name }: { name: string }) => name)).not.toContain('Brand new');
  const file = join(temporaryFolder(), 'new.yaml');
  writeFileSync(file, `name: Tried\nrow_filter: region=eq.ap\nmasks: [{ column: email, kind: redact }]\n`);
  const svc = svcFor(t.server, { token: t.admin.token, tenant: t.id });
  const args = ['--as', ada.email, '--connector', 'warehouse', '--resource-path', 'shop/orders'];
  const ran = await svc(['access', 'preview', ...args, '--policy-file', file]);
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  expect(ran.stdout).toContain(
    `${ada.email} sees 1 of 5 rows of warehouse/shop/orders: those where “region” is "ap".`,
  );
  expect(ran.stdout).toMatch(
    /email +text +masked \(redact: letters as x, digits as 0\) by the policy “Tried”/,
  );
});

test('the preview of a policy change lists what each grant gains and loses', async () => {
  const ada = await newMember(t);
  const id = await world.policy('Changing', {
    row_filter: 'region=eq.eu',
    resource_path: 'shop/orders',
    columns: { mode: 'deny', names: ['total'] },
    masks: [{ column: 'email', kind: 'email' }],
  });
  const grantId = await world.grant(ada, { policy_ids: [id], scope_resource_paths: ['shop'] });
  const url = `${t.base}/access-policies/${id}`;
  const change = {
    row_filter: 'region=in.(us,ap)',
    columns: { mode: 'deny', names: ['customer'] },
    masks: [{ column: 'email', kind: 'hash' }],
  };
  const { plan } = (await t.admin.call('PATCH', `${url}?dry_run=true`, change)).body;
  expect(plan.effects).toEqual([
    {
      grant_id: grantId,
      subject: { kind: 'user', id: ada.id, name: ada.email },
      path: 'warehouse/shop/orders',
      rows: { before: 2, after: 3, gained: 3, lost: 2 },
      columns_gained: ['total'],
      columns_lost: ['customer'],
      masks: [{ column: 'email', before: 'email', after: 'hash' }],
      text: `${ada.email}, warehouse/shop/orders: 3 rows instead of 2 (3 gained, 2 lost); gains total; loses customer; email: email → hash`,
    },
  ]);
  expect(
    (await t.admin.call('PATCH', `${url}?dry_run=true`, { description: 'x' })).body.plan.effects,
  ).toEqual([]);
  const body = {
    name: 'For everybody',
    connector_id: world.connectorId,
    enforced: true,
    row_filter: 'region=eq.us',
  };
  const created = (await t.admin.call('POST', `${t.base}/access-policies?dry_run=true`, body)).body.plan;
  const effects = created.effects.filter(({ grant_id }: { grant_id: string }) => grant_id === grantId);
  const texts = effects.map(({ text }: { text: string }) => text).sort();
  expect(texts[0]).toStartWith(`${ada.email}, warehouse/shop/empty: nothing can be read any more`);
  expect(texts[1]).toBe(`${ada.email}, warehouse/shop/orders: 0 rows instead of 2 (0 gained, 2 lost)`);
  const svc = svcFor(t.server, { token: t.admin.token, tenant: t.id });
  const ran = await svc(['policies', 'update', id, '--row-filter', '']);
  expect(ran.stdout).toContain(
    `Effects on grants:\n  ${ada.email}, warehouse/shop/orders: 5 rows instead of 2 (3 gained, 0 lost)\n`,
  );
  const executed = await t.admin.call('PATCH', url, change, { 'if-plan': plan.fingerprint });
  expect(executed.status).toBe(200);
});

describe('_access', () => {
  test('answers the own access, and says no more than rows do', async () => {
    const ada = await newMember(t);
    const none = await world.own(ada);
    expect([none.status, none.body.actions]).toEqual([200, []]);
    expect(none.body.reason).toBe('You have no active grant on the connector warehouse.');
    expect(none.body.next).toContain(
      'svc grants request --connector warehouse --preset reader --scope shop/orders',
    );
    expect((await world.own(ada, 'shop/nothing')).body.reason).toBe(none.body.reason);
    const id = await world.policy('Hides', {
      row_filter: 'region=eq.eu&total=gt.5',
      columns: { mode: 'deny', names: ['total'] },
      masks: [{ column: 'email', kind: 'email' }],
    });
    const grantId = await world.grant(ada, { policy_ids: [id] });
    const { body } = await world.own(ada);
    expect(body).toMatchObject({
      actions: ['read'],
      filter: '“region” is "eu" and a condition on a column that you cannot see',
      because: [
        { kind: 'grant', id: grantId, name: 'a grant of warehouse with the preset reader' },
        { kind: 'policy', id, name: 'Hides' },
      ],
      reason: null,
      next: null,
    });
    expect(
      body.columns.map(({ name, access }: { name: string; access: string }) => `${name} ${access}`),
    ).toEqual([
      'id clear',
      'region clear',
      'customer clear',
      'email masked',
      'created_at clear',
      'updated_at clear',
    ]);
    expect(JSON.stringify(body)).not.toContain('total');
    const mine = (
      await ada.call('POST', `${t.base}/access/preview`, {
        connector: 'warehouse',
        resource_path: 'shop/orders',
      })
    ).body;
    expect(JSON.stringify(mine)).not.toContain('total');
    expect([mine.rows, mine.sample.length]).toEqual([{ visible: 2, all: null }, 2]);
  });

  test('calls a column masked that a rule empties in other rows, and clear where only own rows are visible', async () => {
    const ada = await newMember(t);
    const columns = { n: { read: ['own'] } };
    await world.rules('some', { read: ['any'], write: ['none'], columns }, { owner_column: 'by' });
    await world.rules('own', { read: ['own'], write: ['none'], columns }, { owner_column: 'by' });
    const through = caller(t.server, bearer({ token: await tokenThrough(t.server, ada, `${t.slug}/lunch`) }));
    const ofN = async (table: string) => {
      const { body } = await through('GET', `/data/${t.slug}/lunch/${table}/_access`);
      return body.columns.find(({ name }: { name: string }) => name === 'n');
    };
    expect(await ofN('some')).toEqual({ name: 'n', access: 'masked', mask: 'null' });
    expect(await ofN('own')).toEqual({ name: 'n', access: 'clear', mask: null });
  });

  test('of a table of an app is the same for tables that are closed and that do not exist', async () => {
    const ada = await newMember(t);
    await world.rules('shut', 'closed');
    await world.rules('open', { read: ['n=gt.5'], write: ['none'] });
    const through = caller(t.server, bearer({ token: await tokenThrough(t.server, ada, `${t.slug}/lunch`) }));
    const ask = (table: string) => through('GET', `/data/${t.slug}/lunch/${table}/_access`);
    const [shut, absent] = [await ask('shut'), await ask('absent')];
    expect([shut.status, shut.body.reason.replace('shut', 'absent')]).toEqual([
      absent.status,
      absent.body.reason,
    ]);
    const preview = (table: string) => ada.call('POST', `${t.base}/access/preview`, { app: 'lunch', table });
    for (const [table, { body }] of [
      ['shut', shut],
      ['absent', absent],
    ] as const)
      expect((await preview(table)).body).toMatchObject({
        text: `${body.reason} ${body.next}`,
        reason: body.reason,
        columns: [],
        rows: { visible: 0, all: null },
      });
    const svc = svcFor(t.server, { token: ada.token, tenant: t.id });
    const ran = await svc(['access', 'preview', '--app', 'lunch', '--table', 'shut']);
    expect([ran.code, ran.stdout]).toEqual([0, `${shut.body.reason} ${shut.body.next}\n`]);
    expect((await ask('open')).body).toMatchObject({
      actions: ['read', 'export'],
      filter: '“n” is greater than "5"',
      reason: 'You may see only rows of lunch/open where “n” is greater than "5". There is no such row.',
    });
    expect((await ada.call('GET', `/data/${t.slug}/nothing/shut/_access`)).status).toBe(404);
    expect((await t.outsider.call('GET', `/data/${t.slug}/lunch/open/_access`)).status).toBe(404);
    expect((await through('POST', `/data/${t.slug}/lunch/open/_access`, {})).status).toBe(405);
  });
});

test('a policy that does not fit a table of an app is named to those who use the table, as by its rows', async () => {
  const ada = await newMember(t);
  await done(
    t.admin.call('POST', `${t.base}/apps/shop/tables`, {
      name: 'unfit',
      columns: ['a:int'],
      access: 'read-write',
    }),
  );
  const id = await world.policy('Unfit', {
    enforced: true,
    resource_path: 'shop/unfit',
    row_filter: 'gone=eq.1',
  });
  const through = caller(t.server, bearer({ token: await tokenThrough(t.server, ada, `${t.slug}/shop`) }));
  const rows = await through('GET', `/data/${t.slug}/shop/unfit`);
  expect(rows.body.code).toBe('policy_unresolvable');
  const own = await through('GET', `/data/${t.slug}/shop/unfit/_access`);
  expect([own.status, own.body.reason]).toEqual([200, rows.body.detail]);
  const preview = await ada.call('POST', `${t.base}/access/preview`, { app: 'shop', table: 'unfit' });
  expect(preview.body.reason).toBe(rows.body.detail);
  await done(t.admin.call('PATCH', `${t.base}/access-policies/${id}`, { enabled: false }));
});

test('admins who do not own the app need its consent, and the ledger names what they looked at', async () => {
  const owner = await newMember(t);
  const { id } = await done(owner.call('POST', `${t.base}/apps`, { name: 'theirs', slug: 'theirs' }));
  await done(owner.call('POST', `${t.base}/apps/${id}/tables`, { name: 'rows', columns: ['n:int'] }));
  const ask = (by: Person) => world.inApp(t.member, 'rows', { app: 'theirs', via: 'console' }, by);
  const refused = await ask(t.admin);
  expect([refused.status, refused.body.code]).toEqual([409, 'consent_required']);
  expect((await ask(owner)).status).toBe(200);
  await done(owner.call('PUT', `${t.base}/apps/${id}/inspection-consent`, { granted: true }));
  expect((await ask(t.admin)).body.rows).toEqual({ visible: 0, all: 0 });
  const ledger = await done(owner.call('GET', `${t.base}/apps/${id}/inspection-consent/ledger`));
  expect(ledger.items[0].reason).toBe(`Preview of the access of ${t.member.email} to rows`);
});
