import { expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { isOnCitus } from './support/citus.ts';
import { governedWorld } from './support/governed.ts';
import { bearer, type Call, done, newMember, type Person } from './support/people.ts';
import { ndjson, type TestTable } from './support/rows.ts';
import { until } from './support/until.ts';

const exported = { accept: 'application/x-ndjson' };

const world = useFixture(governedWorld);

const policy = (table: TestTable, fields: Record<string, unknown>) =>
  world.policy(world.pathOf(table), fields);
const grant = (person: Person, table: TestTable, fields?: Record<string, unknown>) =>
  world.grant(person, world.pathOf(table), fields);

const through = async (person: Person, table: TestTable): Promise<Call> =>
  world.as(bearer({ token: await world.through(person) }), table);

async function orders(access = 'read-write') {
  const table = await world.table(
    ['region:text', 'email:text', 'total:int:nullable', 'secret:text:nullable'],
    { access },
  );
  const rows = await table.insert(
    { region: 'eu', email: 'ada@example.com', total: 14, secret: 's1' },
    { region: 'eu', email: 'bob@example.com', total: 26, secret: 's2' },
    { region: 'us', email: 'zoe@example.com', total: 99, secret: 's3' },
  );
  return { table, ids: rows.map(({ id }) => id as string) };
}

test('a policy of a grant does not weaken an enforced mask, and of several masks the strictest counts', async () => {
  const { table } = await orders('closed');
  const masks = (to: number, first: number) => ({
    masks: [
      { column: 'total', kind: 'round', args: { to } },
      { column: 'email', kind: 'partial', args: { first, last: 0 } },
    ],
  });
  await policy(table, { enforced: true, ...masks(100, 1) });
  const person = await newMember(world.tenant);
  const policy_ids = [await policy(table, masks(1, 5)), await policy(table, masks(10, 3))];
  await grant(person, table, { policy_ids });
  const listed = await done(world.as(bearer(person), table)('GET', '?sort=region,email&select=email,total'));
  expect(listed.data).toEqual([
    { email: 'a•••', total: 0 },
    { email: 'b•••', total: 0 },
    { email: 'z•••', total: 100 },
  ]);
});

test('pages by cursor have every row once where ids are masked', async () => {
  for (const kind of ['null', 'constant', 'hash']) {
    const { table } = await orders();
    const args = kind === 'constant' ? { value: Bun.randomUUIDv7() } : {};
    await policy(table, { enforced: true, masks: [{ column: 'id', kind, args }] });
    const seen: string[] = [];
    for (let search: string | null = '?per_page=1&sort=region'; search !== null; ) {
      const { data, next_cursor } = await done(table.send('GET', search));
      seen.push(...data.map(({ email }: { email: string }) => email));
      search = next_cursor === null ? null : `?per_page=1&sort=region&cursor=${next_cursor}`;
    }
    expect([kind, seen.sort()]).toEqual([kind, ['ada@example.com', 'bob@example.com', 'zoe@example.com']]);
  }
});

test.skipIf(isOnCitus)('a restored request names no ids where they are masked', async () => {
  const table = await world.table(['title:text'], { soft_delete: '30d' });
  const [row] = await table.insert({ title: 'Tea' });
  await policy(table, { enforced: true, masks: [{ column: 'id', kind: 'hash' }] });
  const deleted = await table.send('DELETE', '?title=Tea');
  expect(deleted.body).toEqual({ deleted: 1 });
  const body = { request_id: deleted.headers.get('x-request-id') };
  const plan = await table.send('POST', '/_restore?dry_run=true', body);
  expect([plan.status, plan.text.includes(row.id)]).toEqual([200, false]);
  expect((await table.send('POST', '/_restore', body)).body).toEqual({ restored: 1 });
});

test('an enforced policy narrows everybody at the path of the app, owners too', async () => {
  const { table, ids } = await orders();
  await policy(table, {
    enforced: true,
    row_filter: 'region=eq.eu',
    columns: { mode: 'deny', names: ['secret'] },
    masks: [
      { column: 'email', kind: 'email' },
      { column: 'total', kind: 'round', args: { to: 10 } },
    ],
  });
  const visitor = await through(await newMember(world.tenant), table);
  for (const send of [table.send, visitor]) {
    const listed = await done(send('GET', '?sort=-email&select=email,total'));
    expect(listed.data).toEqual([
      { email: 'b•••@example.com', total: 30 },
      { email: 'a•••@example.com', total: 10 },
    ]);
    expect((await done(send('GET', '/_count'))).count).toBe(2);
    expect((await done(send('GET', '/_count?total=eq.10'))).count).toBe(1);
    expect((await done(send('GET', '?email=eq.ada@example.com'))).data).toEqual([]);
    const one = await send('GET', `/${ids[0]}`);
    expect(one.body).not.toHaveProperty('secret');
    expect((await send('GET', `/${ids[2]}`)).status).toBe(404);
    for (const query of [
      '?secret=eq.s1',
      '?sort=secret',
      '?select=secret',
      '?or=(secret.is.null,total.eq.1)',
    ])
      expect((await send('GET', query)).body.code).toBe('unknown_column');
    expect((await send('GET', '', undefined, exported)).text.trim().split('\n').length).toBe(2);
    expect((await send('PATCH', `/${ids[2]}`, { region: 'eu' })).status).toBe(404);
    expect((await send('DELETE', `/${ids[2]}`)).status).toBe(404);
    expect((await send('PATCH', `/${ids[0]}`, { region: 'us' })).status).toBe(403);
    expect((await send('PATCH', `/${ids[0]}`, { total: 1 })).body.errors[0].code).toBe('read_only');
    expect((await send('PATCH', `/${ids[0]}`, { secret: 'x' })).body.code).toBe('unknown_column');
    expect((await send('POST', '', { region: 'eu', email: 'x@example.com' })).status).toBe(400);
  }
});

test('an enforced policy that leaves the columns clear checks inserts, batches and upserts', async () => {
  const { table, ids } = await orders();
  await policy(table, { enforced: true, row_filter: 'region=eq.eu' });
  const row = { region: 'eu', email: 'new@example.com' };
  expect((await table.send('POST', '', row)).status).toBe(201);
  expect((await table.send('POST', '', { ...row, region: 'us' })).status).toBe(403);
  const lines = [row, { ...row, region: 'us' }].map((each) => `${JSON.stringify(each)}\n`);
  expect((await table.send('POST', '', lines[0], ndjson)).status).toBe(201);
  expect((await table.send('POST', '', lines.join(''), ndjson)).status).toBe(403);
  const merge = { prefer: 'resolution=merge-duplicates' };
  expect((await table.send('POST', '', { ...row, id: ids[0], total: 5 }, merge)).status).toBe(200);
  expect((await table.send('POST', '', { ...row, id: ids[2], total: 5 }, merge)).status).toBe(409);
  expect((await done(table.send('GET', '/_count'))).count).toBe(4);
});

test('a grant opens an app table at the path of the app, within its policies, and is written down', async () => {
  const { table, ids } = await orders('closed');
  const person = await newMember(world.tenant);
  const send = world.as(bearer(person), table);
  expect((await send('GET', '')).status).toBe(404);
  const europe = await policy(table, {
    row_filter: 'region=eq.eu',
    actions: ['read', 'update'],
    masks: [{ column: 'email', kind: 'redact' }],
  });
  const id = await grant(person, table, {
    preset_id: await world.preset('read', 'update'),
    policy_ids: [europe],
  });
  const read = await until('the grant is in use', async () => {
    const answer = await send('GET', '?select=email');
    return answer.status === 200 && answer;
  });
  expect(read.body.data).toEqual([{ email: 'xxx@xxxxxxx.xxx' }, { email: 'xxx@xxxxxxx.xxx' }]);
  expect((await send('GET', '', undefined, exported)).status).toBe(403);
  expect((await send('PATCH', `/${ids[0]}`, { total: 7 })).body.total).toBe(7);
  expect((await send('PATCH', `/${ids[0]}`, { email: 'x' })).body.errors[0].code).toBe('read_only');
  expect((await send('PATCH', `/${ids[2]}`, { total: 7 })).status).toBe(404);
  expect((await send('DELETE', `/${ids[0]}`)).status).toBe(403);
  // The app does not get what its visitor may.
  expect((await (await through(person, table))('GET', '')).status).toBe(404);
  const { tenant, app } = world;
  const log = () => tenant.admin.call('GET', `${tenant.base}/access/log?connector=tables&user=${person.id}`);
  const entry = await until('the read is in the access log', async () =>
    (await log()).body.items?.find((item: { columns: string[] }) => item.columns.length === 1),
  );
  expect(entry).toMatchObject({
    app_id: app.id,
    resource_path: `${app.slug}/${table.name}`,
    masked_columns: ['email'],
    rows: 2,
    grant_ids: [id],
    policy_ids: [europe],
  });
  await done(tenant.admin.call('PATCH', `${tenant.base}/connectors/tables`, { writable: false }));
  await until(
    'changes are refused',
    async () => (await send('PATCH', `/${ids[0]}`, { total: 8 })).status === 403,
  );
  await done(tenant.admin.call('PATCH', `${tenant.base}/connectors/tables`, { writable: true }));
});

test('the rows that changes by a grant show are written down, in answers, plans and batches', async () => {
  const { table, ids } = await orders('closed');
  const { tenant, app } = world;
  const person = await newMember(tenant);
  const send = world.as(bearer(person), table);
  await grant(person, table, { preset_id: await world.preset('read', 'insert', 'update', 'delete') });
  await until('the grant is in use', async () => (await send('GET', '/_count')).status === 200);
  const batch = (operations: object[], headers: Record<string, string> = {}) =>
    person.call('POST', `/data/${tenant.slug}/${app.slug}/_batch`, { operations }, headers);
  const update = { op: 'update', table: table.name, id: ids[1], values: { total: 2 } };
  const key = { 'idempotency-key': Bun.randomUUIDv7() };
  const shown = [
    await send('PATCH', `/${ids[0]}`, { total: 7 }),
    await send('PATCH', `/${ids[0]}?dry_run=true`, { total: 8 }),
    await send('DELETE', `/${ids[0]}?dry_run=true`),
    await send('POST', '', { region: 'eu', email: 'new@example.com' }),
    await batch([update], key),
    await batch([update], key),
  ];
  const silent = [
    await send('PATCH', `/${ids[0]}`, { total: 9 }, { prefer: 'return=minimal' }),
    await batch([update], { prefer: 'return=minimal' }),
    await send('DELETE', `/${ids[0]}`),
  ];
  const log = await done(
    tenant.admin.call('GET', `${tenant.base}/access/log?connector=tables&user=${person.id}`),
  );
  const recorded = (answers: { headers: Headers }[]) =>
    answers.map(
      ({ headers }) =>
        log.items.find((item: { request_id: string }) => item.request_id === headers.get('x-request-id'))
          ?.rows ?? 0,
    );
  expect(recorded(shown)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(recorded(silent)).toEqual([0, 0, 0]);
});

test('a repeated request does not show what has been hidden since', async () => {
  const { table } = await orders();
  const key = { 'idempotency-key': Bun.randomUUIDv7() };
  const row = { region: 'eu', email: 'a@example.com', secret: 'deep' };
  expect((await table.send('POST', '', row, key)).body.secret).toBe('deep');
  expect((await table.send('POST', '', row, key)).body.secret).toBe('deep');
  await policy(table, { enforced: true, columns: { mode: 'deny', names: ['total'] } });
  await until('the policy is in use', async () => (await table.send('GET', '?total=eq.1')).status === 400);
  const again = await table.send('POST', '', row, key);
  expect([again.status, again.text, again.headers.get('etag')]).toEqual([201, '', null]);
  expect((await done(table.send('GET', '/_count'))).count).toBe(4);
});

test('a table and its columns keep the names and types that grants and policies use', async () => {
  const { table } = await orders();
  const named = await policy(table, {
    columns: { mode: 'deny', names: ['secret'] },
    masks: [{ column: 'total', kind: 'round', args: { to: 10 } }],
    row_filter: 'region=eq.eu',
  });
  const rename = () => table.shape('PATCH', '', { name: `x${table.name}` });
  expect((await rename()).body.code).toBe('table_in_use');
  for (const column of ['secret', 'region']) {
    expect((await table.shape('PATCH', `/columns/${column}`, { name: 'other' })).body.code).toBe(
      'column_in_use',
    );
    expect((await table.shape('DELETE', `/columns/${column}`)).body.code).toBe('column_in_use');
  }
  expect((await table.shape('PATCH', '/columns/email', { name: 'mail' })).status).toBe(200);
  const retyped = await table.shape('PATCH', '/columns/total', { type: 'bigint' });
  expect(retyped.body.code).toBe('column_in_use');
  const { tenant } = world;
  const id = await grant(tenant.member, table);
  expect((await table.shape('DELETE', '')).body.code).toBe('table_in_use');
  await done(tenant.admin.call('POST', `${tenant.base}/grants/${id}/revoke`, {}));
  await done(tenant.admin.call('PATCH', `${tenant.base}/access-policies/${named}`, { enabled: false }));
  expect((await rename()).status).toBe(200);
});

test('a mask that does not fit the type of its column is refused, and a policy that does not fit closes', async () => {
  const { table } = await orders();
  const { tenant, app } = world;
  const policiesPath = `${tenant.base}/access-policies`;
  const body = {
    name: 'unfit',
    connector_id: world.connectorId,
    resource_path: `${app.slug}/${table.name}`,
    masks: [{ column: 'total', kind: 'email' }],
  };
  const refused = await tenant.admin.call('POST', policiesPath, body);
  expect([refused.status, refused.body.code]).toEqual([400, 'validation_failed']);
  expect(refused.body.detail).toContain('email fits columns of type text only');
  const gone = { ...body, masks: [{ column: 'gone', kind: 'null' }], enforced: true };
  const preview = await tenant.admin.call('POST', `${policiesPath}?dry_run=true`, gone);
  expect(preview.body.plan.warnings.join()).toContain(`${app.slug}/${table.name}`);
  const { id } = await done(tenant.admin.call('POST', policiesPath, gone));
  await until('the policy is in use', async () => (await table.send('GET', '')).status === 403);
  expect((await table.send('GET', '')).body.code).toBe('policy_unresolvable');
  // Who does not reach the table does not learn that it has a policy.
  expect((await world.as(bearer(tenant.outsider), table)('GET', '')).status).toBe(404);
  expect((await world.as(bearer(await newMember(tenant)), table)('GET', '')).status).toBe(404);
  const document = await tenant.admin.call('GET', `${tenant.base}/apps/${app.slug}/openapi.json`);
  expect(document.status).toBe(200);
  await done(tenant.admin.call('PATCH', `${policiesPath}/${id}`, { enabled: false }));
  await until('the policy is gone', async () => (await table.send('GET', '')).status === 200);
});

test('a filter with an attribute is checked when it is saved, and is false for a value that does not fit', async () => {
  const { table } = await orders('closed');
  const { tenant, app } = world;
  const path = `${app.slug}/${table.name}`;
  const unfit = {
    name: 'gone',
    connector_id: world.connectorId,
    resource_path: path,
    row_filter: 'gone=eq.@me.level',
  };
  const preview = await tenant.admin.call('POST', `${tenant.base}/access-policies?dry_run=true`, unfit);
  expect(preview.body.plan.warnings.join()).toContain(path);
  const person = await newMember(tenant);
  const setLevel = (level: string) =>
    done(tenant.admin.call('PATCH', `${tenant.base}/members/${person.id}`, { attributes: { level } }));
  await setLevel('high');
  for (const row_filter of ['total=eq.@me.level', 'region=eq.us'])
    await grant(person, table, { policy_ids: [await policy(table, { row_filter })] });
  const totals = async () =>
    (await world.as(bearer(person), table)('GET', '?sort=total')).body.data?.map(
      ({ total }: { total: number }) => total,
    );
  await until('the grants are in use', async () => (await totals())?.join() === '99');
  await setLevel('26');
  await until('the attribute is in use', async () => (await totals())?.join() === '26,99');
});
