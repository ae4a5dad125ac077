import { expect, test } from 'bun:test';
import { svcFor } from './support/commands.ts';
import { done, newMember } from './support/people.ts';
import { revokeUnderLoad } from './support/revocation.ts';
import { until } from './support/until.ts';
import {
  describeWarehouses,
  newPreset,
  openWarehouse,
  readerPassword,
  startOrders,
} from './support/warehouses.ts';

describeWarehouses('rows behind a connector of kind', startOrders, (warehouse, kind) => {
  const open = (connector?: Record<string, unknown>, login?: 'reader' | 'writer') =>
    openWarehouse(warehouse, connector, login);
  const ids = ({ body }: { body: { data: { id: number }[] } }) => body.data.map(({ id }) => id);

  test('do not exist without a grant, also for admins, nor outside its scope', async () => {
    const opened = await open();
    const { t, get, grant } = opened;
    const absent = await get('sales/nothing');
    for (const by of [t.member, t.admin, t.outsider]) {
      const answer = await get('sales/orders', {}, by);
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
      expect(answer.body.detail).toEqual(absent.body.detail);
    }
    await grant({ scope_resource_paths: ['sales/lines'] });
    expect((await get('sales/orders')).status).toBe(404);
    expect((await get('sales/lines')).status).toBe(200);
  });

  test('are grouped like those of an app, after the policies, and texts by their bytes', async () => {
    const opened = await open();
    const { t, get, grant } = opened;
    const grantId = await grant();
    const groups = async (search: string) => (await get(`sales/orders/_aggregate?${search}`)).body.data;
    expect(
      await groups('select=region,n:count(),t:total.sum(),a:total.avg(),f:customer.min()&sort=-n'),
    ).toEqual([
      { region: 'eu', n: 2, t: 210.5, a: 105.25, f: 'Ada' },
      { region: 'us', n: 2, t: 1000, a: 1000, f: 'Zoë' },
      { region: 'EU', n: 1, t: 99.99, a: 99.99, f: 'Eve ' },
    ]);
    expect(await groups('select=paid,i:id.sum(),c:region.count_distinct()&having=i.gt.3')).toEqual([
      { paid: false, i: 7, c: 2 },
      { paid: true, i: 4, c: 2 },
      { paid: null, i: 4, c: 1 },
    ]);
    const first = await get('sales/orders/_aggregate?select=region,n:count()&per_page=2&sort=-region');
    expect(first.body.data.map(({ region }: { region: string }) => region)).toEqual(['us', 'eu']);
    const rest = `select=region,n:count()&sort=-region&cursor=${first.body.next_cursor}`;
    expect(await groups(rest)).toEqual([{ region: 'EU', n: 1 }]);
    expect(ids(await get('sales/orders?distinct=region&sort=-id'))).toEqual([5, 4, 2]);
    expect((await get('sales/orders/_count?distinct=region')).body).toEqual({ count: 3 });
    const visits = (select: string) => get(`sales/visits/_aggregate?select=${select}`);
    expect((await visits('m:placed.month(),h:placed.hour(),w:placed.week(),n:count()')).body.data).toEqual([
      { m: '2026-01-01', h: '2026-01-31T23:00:00Z', w: '2026-01-26', n: 2 },
    ]);
    expect((await visits('q:placed.quarter(),y:placed.year(),d:placed.day()')).body.data).toEqual([
      { q: '2026-01-01', y: '2026-01-01', d: '2026-01-31' },
    ]);
    // MariaDB knows time zones only after they were loaded.
    const zoned = await visits('m:placed.month(Europe/Berlin)');
    if (kind === 'postgres') expect(zoned.body.data).toEqual([{ m: '2026-02-01' }]);
    else expect([zoned.status, zoned.body.code]).toEqual([400, 'validation_failed']);

    const policy = await t.admin.call('POST', `${t.base}/access-policies`, {
      name: 'Masked',
      connector_id: opened.connectorId,
      resource_path: 'sales/orders',
      row_filter: 'id=lt.5',
      columns: { mode: 'deny', names: ['email'] },
      masks: [
        { column: 'customer', kind: 'redact' },
        { column: 'total', kind: 'round', args: { to: 100 } },
      ],
    });
    expect(policy.status).toBe(201);
    await t.admin.call('POST', `${t.base}/grants/${grantId}/revoke`, {});
    await grant({ policy_ids: [policy.body.id] });
    const masked = 'select=customer,n:count(),t:total.sum()&sort=customer';
    await until('the policy applies', async () => (await groups(masked))?.length === 1, 5_000);
    expect(await groups(masked)).toEqual([{ customer: 'xxx', n: 4, t: 1200 }]);
    expect((await get('sales/orders/_aggregate?select=email.count()')).body.code).toBe('unknown_column');
  });

  test('are listed, filtered, sorted, counted and read by their key like those of an app', async () => {
    const { t, get, grant } = await open();
    await grant();
    const all = await get('sales/orders?sort=-total,id');
    expect(ids(all)).toEqual([4, 3, 2, 5, 1]);
    expect(all.body.data[1]).toEqual({
      id: 3,
      region: 'us',
      customer: 'Zoë',
      email: 'zoe@example.com',
      total: 1000,
      paid: true,
    });
    for (const [filter, expected] of [
      ['total=gt.100', [2, 3]],
      ['region=eu', [1, 2]],
      ['region=in.(eu,EU)', [1, 2, 5]],
      ['customer=eq.Eve', []],
      ['customer=ilike.ADA', [1, 4]],
      ['customer=sw.A', [1]],
      ['customer=gt.a', [2, 4]],
      ['customer=ihas.zo', [3]],
      ['email=like.%25_example.com', [1, 2, 3, 5]],
      ['email=is.null', [4]],
      ['paid=is.true', [1, 3]],
      ['paid=eq.false', [2, 5]],
      ['or=(id.eq.1,total.between.(90,100))', [1, 5]],
      ['not.and=(paid.is.true,region.eq.us)', [1, 2, 4, 5]],
    ] as const)
      expect([filter, ids(await get(`sales/orders?${filter}`))]).toEqual([filter, [...expected]]);
    expect((await get('sales/orders/_count?region=eu')).body).toEqual({ count: 2 });
    const one = await get('sales/orders/2?select=id,who:customer');
    expect(one.body).toEqual({ id: 2, who: 'bob' });
    expect(
      (await get('sales/orders/2?select=id,who:customer', { 'if-none-match': one.headers.get('etag')! }))
        .status,
    ).toBe(304);
    expect((await get('sales/orders/9')).status).toBe(404);
    expect((await get('sales/orders?nothing=1')).body.code).toBe('unknown_column');
    expect((await get('sales/lines/1,2')).body).toEqual({ order_id: 1, line: 2, sku: 'b' });
    const svc = svcFor(t.server, { token: t.member.token, tenant: t.id });
    const listed = await svc([
      'rows',
      'list',
      'sales/orders',
      '--connector',
      'warehouse',
      '--filter',
      'total=gt.100',
      '--json',
    ]);
    expect([listed.code, ids({ body: listed.json() })]).toEqual([0, [2, 3]]);
    expect((await svc(['rows', 'count', 'sales/orders', '--connector', 'warehouse'])).stdout).toBe('5\n');
    expect(
      (await svc(['rows', 'get', 'sales/orders', '1', '--connector', 'warehouse', '--json'])).json(),
    ).toMatchObject({ customer: 'Ada' });
  });

  test('have pages by cursor in every order, and by number without a key', async () => {
    const { get, grant } = await open();
    await grant();
    for (const sort of ['id', '-total', 'customer', '-region,customer', 'paid,-id', 'email']) {
      const whole = ids(await get(`sales/orders?sort=${sort}`));
      const seen: number[] = [];
      let next = '';
      do {
        const page = await get(`sales/orders?sort=${sort}&per_page=2${next && `&cursor=${next}`}`);
        expect(page.status).toBe(200);
        seen.push(...ids(page));
        next = page.body.next_cursor ?? '';
      } while (next !== '');
      expect([sort, seen]).toEqual([sort, whole]);
      expect(new Set(seen).size).toBe(5);
    }
    const lines = await get('sales/lines?per_page=2');
    const more = await get(`sales/lines?cursor=${lines.body.next_cursor}`);
    expect(more.body.data).toEqual([{ order_id: 2, line: 1, sku: 'c,d' }]);
    const totals = await get('sales/totals?per_page=1&sort=region');
    expect([totals.body.has_more, totals.body.next_cursor, totals.body.data[0].region]).toEqual([
      true,
      null,
      'EU',
    ]);
    expect((await get('sales/totals?per_page=1&page=5&sort=region')).body.data[0].region).toBe('us');
  });

  test('are exported without content where no column is visible', async () => {
    const opened = await open();
    const { t, get, grant } = opened;
    const { id } = await done(
      t.admin.call('POST', `${t.base}/access-policies`, {
        name: 'Nothing',
        connector_id: opened.connectorId,
        resource_path: 'sales/orders',
        columns: { mode: 'allow', names: [] },
        actions: ['export'],
      }),
    );
    await grant({ preset_id: await newPreset(opened, 'read', 'export'), policy_ids: [id] });
    const count = (await get('sales/orders')).body.data.length;
    const { status, text } = await get('sales/orders', { accept: 'application/x-ndjson' });
    expect([status, text]).toEqual([200, '{}\n'.repeat(count)]);
  });

  test('are exported only with the action export', async () => {
    const opened = await open();
    const { grant, get } = opened;
    const lines = { accept: 'application/x-ndjson' };
    await grant();
    expect((await get('sales/orders', lines)).status).toBe(403);
    await grant({ preset_id: await newPreset(opened, 'read', 'export') });
    await until('the grant is in use', async () => (await get('sales/orders', lines)).status === 200, 5_000);
    const { t } = opened;
    const svc = svcFor(t.server, { token: t.member.token, tenant: t.id });
    const exported = await svc([
      'rows',
      'export',
      'sales/orders',
      '--connector',
      'warehouse',
      '--select',
      'id',
      '--sort',
      '-id',
    ]);
    expect(exported.stdout).toBe('{"id":5}\n{"id":4}\n{"id":3}\n{"id":2}\n{"id":1}\n');
  });

  test('show what the policies of a grant leave', async () => {
    const opened = await open();
    const { t, grant, get } = opened;
    const policy = await t.admin.call('POST', `${t.base}/access-policies`, {
      name: 'Europe',
      connector_id: opened.connectorId,
      resource_path: 'sales/orders',
      row_filter: 'region=eq.eu',
      columns: { mode: 'deny', names: ['total'] },
      masks: [
        { column: 'email', kind: 'email' },
        { column: 'customer', kind: 'redact' },
      ],
    });
    expect(policy.status).toBe(201);
    const grantId = await grant({ policy_ids: [policy.body.id] });
    const listed = await get('sales/orders');
    expect(listed.body.data).toEqual([
      { id: 1, region: 'eu', customer: 'xxx', email: 'a•••@example.com', paid: true },
      { id: 2, region: 'eu', customer: 'xxx', email: 'b•••@example.com', paid: false },
    ]);
    const log = () => t.admin.call('GET', `${t.base}/access/log?connector=warehouse`);
    await until('the read is in the access log', async () => (await log()).body.items.length > 0, 5_000);
    expect((await log()).body.items).toMatchObject([
      {
        actor_id: t.member.id,
        connector_id: opened.connectorId,
        resource_path: 'sales/orders',
        action: 'read',
        columns: ['id', 'region', 'customer', 'email', 'paid'],
        masked_columns: ['customer', 'email'],
        rows: 2,
        grant_ids: [grantId],
        policy_ids: [policy.body.id],
        request_id: listed.headers.get('x-request-id'),
      },
    ]);
    expect((await get('sales/orders?total=gt.1')).body.code).toBe('unknown_column');
    expect((await get('sales/orders?email=eq.ada@example.com')).body.data).toEqual([]);
    expect((await get('sales/orders?customer=xxx')).body.data.length).toBe(2);
    expect((await get('sales/orders/_count')).body).toEqual({ count: 2 });
    expect((await get('sales/orders/3')).status).toBe(404);
    const { id } = policy.body;
    await t.admin.call('PATCH', `${t.base}/access-policies/${id}`, { row_filter: 'gone=eq.1' });
    await until('the policy is in use', async () => (await get('sales/orders')).status === 403, 5_000);
    expect((await get('sales/orders')).body.code).toBe('policy_unresolvable');
  });

  test('stay closed when a column that a policy hides has got another name', async () => {
    const opened = await open();
    const { t, grant, get } = opened;
    const name = `renamed_${t.slug.slice(-8)}`;
    await warehouse.query(`create table sales.${name} (id int primary key, secret varchar(20));
      insert into sales.${name} values (1, 'deep')`);
    const refresh = async () =>
      (await t.admin.call('POST', `${t.base}/connectors/warehouse/schema/refresh`)).body;
    expect((await refresh()).unfit_policies).toEqual([]);
    const policy = await t.admin.call('POST', `${t.base}/access-policies`, {
      name: 'No secrets',
      connector_id: opened.connectorId,
      columns: { mode: 'deny', names: ['secret'] },
      resource_path: `sales/${name}`,
    });
    const own = await t.admin.call('POST', `${t.base}/access-policies`, {
      name: 'Own secrets',
      connector_id: opened.connectorId,
      row_filter: 'secret=eq.@me.secret',
      resource_path: `sales/${name}`,
    });
    expect(own.status).toBe(201);
    await grant({ policy_ids: [policy.body.id] });
    expect((await get(`sales/${name}`)).body.data).toEqual([{ id: 1 }]);
    await warehouse.query(`alter table sales.${name} rename column secret to hidden`);
    expect((await refresh()).unfit_policies.sort()).toEqual([
      `No secrets: sales/${name}`,
      `Own secrets: sales/${name}`,
    ]);
    await until('it is closed', async () => (await get(`sales/${name}`)).body.code === 'policy_unresolvable');
  });

  test('close within a second after the grant is revoked', async () => {
    const { t, grant, get } = await open();
    const id = await grant();
    const ask = async () => {
      const { status } = await get('sales/orders');
      return status === 200 ? 'works' : status === 404 ? 'refused' : String(status);
    };
    const { late, odd, lastMs } = await revokeUnderLoad({
      clients: [[ask], [ask]],
      remove: () => done(t.admin.call('POST', `${t.base}/grants/${id}/revoke`, {})),
    });
    expect({ late, odd }).toEqual({ late: 0, odd: {} });
    expect(lastMs).toBeLessThanOrEqual(1_000);
  });

  test('change only by a grant, on a writable connector, within its policies', async () => {
    const opened = await open({ writable: true }, 'writer');
    const { t, grant, get, connectorId } = opened;
    const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      t.member.call(method, `/data/${t.id}/_connectors/warehouse/sales/changes${path}`, body, headers);
    await grant();
    expect((await call('POST', '', { region: 'eu' })).status).toBe(403);
    const policy = await t.admin.call('POST', `${t.base}/access-policies`, {
      name: 'Europe',
      connector_id: connectorId,
      actions: ['read', 'insert', 'update', 'delete'],
      row_filter: 'region=eq.eu',
    });
    const writer = await newMember(t);
    const all = await newPreset(opened, 'read', 'insert', 'update', 'delete');
    await grant({ subject_id: writer.id, preset_id: all, policy_ids: [policy.body.id] });
    const write = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      writer.call(method, `/data/${t.id}/_connectors/warehouse/sales/changes${path}`, body, headers);
    const made = await write('POST', '', { region: 'eu', note: 'new' });
    expect([made.status, made.body.note]).toEqual([201, 'new']);
    const { id } = made.body;
    expect(made.headers.get('location')).toEndWith(`/sales/changes/${id}`);
    expect((await write('POST', '', { region: 'us' })).status).toBe(403);
    expect((await write('PATCH', '/2', { note: 'x' })).status).toBe(404);
    expect((await write('PATCH', `/${id}`, { region: 'us' })).status).toBe(403);
    expect((await write('POST', '', { id, region: 'eu' })).body.code).toBe('unique_violation');
    const incomplete = await write('POST', '', { note: 'nowhere' });
    expect([incomplete.status, incomplete.body.errors]).toMatchObject([
      400,
      [{ column: 'region', code: 'required' }],
    ]);
    const clerk = await newMember(t);
    await grant({ subject_id: clerk.id, preset_id: all });
    const lines = `/data/${t.id}/_connectors/warehouse/sales/lines`;
    const keyless = await clerk.call('POST', lines, { order_id: 9 });
    expect([keyless.status, keyless.body.errors]).toMatchObject([
      400,
      [{ column: 'line', code: 'required' }],
    ]);
    const preview = await write('PATCH', `/${id}?dry_run=true`, { note: 'later' });
    expect(preview.body.plan.changes).toMatchObject([{ path: 'note', before: 'new', after: 'later' }]);
    expect((await get(`sales/changes/${id}`)).body.note).toBe('new');
    const updated = await write(
      'PATCH',
      `/${id}`,
      { note: 'later' },
      { 'if-match': made.headers.get('etag')! },
    );
    expect([updated.status, updated.body.note]).toEqual([200, 'later']);
    expect(
      (await write('PATCH', `/${id}`, { note: 'z' }, { 'if-match': made.headers.get('etag')! })).status,
    ).toBe(412);
    const log = await t.admin.call('GET', `${t.base}/access/log?connector=warehouse&user=${writer.id}`);
    const recorded = log.body.items.map((item: { request_id: string }) => item.request_id);
    for (const shown of [made, preview, updated])
      expect(recorded).toContain(shown.headers.get('x-request-id'));
    // Only one row at a time.
    expect((await write('DELETE', `?id=eq.${id}`)).headers.get('allow')).toBe('GET, HEAD, POST');
    expect((await write('DELETE', `/${id}`)).status).toBe(204);
    expect((await get(`sales/changes/${id}`)).status).toBe(404);
    const closed = await t.admin.call('PATCH', `${t.base}/connectors/warehouse`, { writable: false });
    expect(closed.status).toBe(200);
    await until(
      'changes are refused',
      async () => (await write('DELETE', '/1')).body?.code === 'connector_read_only',
      5_000,
    );
  });

  test('that the data source refuses answer what is wrong, without its names', async () => {
    await warehouse.query(`create table sales.parts (id int primary key, n int, boss int, code int unique,
        twice int generated always as (n * 2) stored, constraint hush_positive check (n > 0),
        constraint hush_boss foreign key (boss) references sales.parts (id));
      insert into sales.parts (id, n, boss, code) values (1, 1, null, 1), (2, 1, 1, 2)`);
    const refusal =
      kind === 'postgres'
        ? `create function sales.refuse() returns trigger language plpgsql as
            $$ begin if new.n = 13 then raise exception 'hush'; end if; return new; end $$;
          create trigger refuse before insert on sales.parts for each row execute function sales.refuse()`
        : `create trigger sales.refuse before insert on sales.parts for each row
            begin if new.n = 13 then signal sqlstate '45000' set message_text = 'hush'; end if; end`;
    await warehouse.query(refusal);
    const writing = async (login: 'reader' | 'writer') => {
      const opened = await open({ writable: true }, login);
      await opened.grant({ preset_id: await newPreset(opened, 'read', 'insert', 'update', 'delete') });
      return async (method: string, path: string, body?: object) => {
        const table = `/data/${opened.t.id}/_connectors/warehouse/sales/parts`;
        const answer = await opened.t.member.call(method, `${table}${path}`, body);
        const { code, detail, errors = [] } = answer.body;
        expect(JSON.stringify([detail, errors])).not.toMatch(/hush|boss|parts_|sales|twice|schema/);
        return [answer.status, code, errors[0]?.code];
      };
    };
    const write = await writing('writer');
    const invalid = (code: string) => [400, 'validation_failed', code];
    const cases: [string, string, object | undefined, unknown[]][] = [
      ['POST', '', { id: 3, n: -1 }, invalid('check_violation')],
      ['PATCH', '/1', { n: -1 }, invalid('check_violation')],
      ['POST', '', { id: 3, boss: 99 }, invalid('reference_violation')],
      ['PATCH', '/1', { boss: 99 }, invalid('reference_violation')],
      ['POST', '?dry_run=true', { id: 3, boss: 99 }, invalid('reference_violation')],
      ['DELETE', '/1', undefined, [409, 'row_in_use', undefined]],
      ['POST', '', { id: 3, n: 13 }, invalid('refused')],
      ['POST', '', { id: 3, twice: 5 }, invalid('read_only')],
      ['POST', '', { id: 3, code: 1 }, [409, 'unique_violation', 'unique_violation']],
    ];
    for (const [method, path, body, expected] of cases)
      expect([method, path, body, await write(method, path, body)]).toEqual([method, path, body, expected]);
    const unallowed = await writing('reader');
    expect(await unallowed('PATCH', '/1', { n: 2 })).toEqual([409, 'connector_read_only', undefined]);
  });

  test('of a server that is down answer 503, and others go on', async () => {
    const { t, get, grant } = await open();
    await grant();
    expect((await get('sales/orders')).status).toBe(200);
    const connection = { port: 1, password: readerPassword };
    expect((await t.admin.call('PATCH', `${t.base}/connectors/warehouse`, { connection })).status).toBe(200);
    await until(
      'the rows are gone',
      async () => (await get('sales/orders')).body.code === 'connector_unavailable',
      5_000,
    );
    expect((await get('sales/orders')).body.detail).not.toContain('localhost');
    const other = await open();
    await other.grant();
    expect((await other.get('sales/orders')).status).toBe(200);
  });
});
