import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { done, newMember } from './support/people.ts';
import { rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);
const ada = useFixture(() => world.visitor());
const ben = useFixture(() => world.visitor());

/** Ten tasks, of which the even ones are open. */
async function tasks(more: object = {}): Promise<TestTable> {
  const table = await world.table(['n:int', 'state:text', 'note:text:nullable'], more);
  await table.batch(Array.from({ length: 10 }, (_, n) => ({ n, state: n % 2 === 0 ? 'open' : 'done' })));
  return table;
}

const numbers = async (table: TestTable, search: string) =>
  (await table.list(`${search}&sort=n`)).map(({ n }) => n);

describe('a change of the rows that match a filter', () => {
  test('updates and deletes them, and no others', async () => {
    const table = await tasks();
    const updated = await table.send('PATCH', '?state=eq.open&n=lt.6', { note: 'soon' });
    expect([updated.status, updated.body.updated, updated.body.ids.length]).toEqual([200, 3, 3]);
    expect(await numbers(table, '?note=eq.soon')).toEqual([0, 2, 4]);
    const deleted = await table.send('DELETE', '?or=(n.eq.1,note.eq.soon)&max_affected=4');
    expect([deleted.status, deleted.body.deleted]).toEqual([200, 4]);
    expect(await numbers(table, '?')).toEqual([3, 5, 6, 7, 8, 9]);
    expect((await table.send('DELETE', '?n=eq.77')).body).toEqual({ deleted: 0, ids: [] });
  });

  test('needs a filter', async () => {
    const table = await tasks();
    for (const answer of [
      await table.send('PATCH', '', { note: 'x' }),
      await table.send('DELETE', '?max_affected=50'),
      await table.send('DELETE', '?dry_run=true'),
    ])
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect((await table.send('DELETE', '?colour=eq.red')).body.code).toBe('unknown_column');
    expect((await table.send('DELETE', '?n=eq.1&select=n')).body.code).toBe('unknown_parameter');
    expect((await table.send('DELETE', '?n=eq.1', undefined, { 'if-match': '"1"' })).status).toBe(400);
    expect(await table.list()).toHaveLength(10);
  });

  test('changes nothing if more rows match than max_affected', async () => {
    const table = await tasks();
    for (const search of ['?n=gte.0&max_affected=9', '?n=gte.0&_max_affected=9&dry_run=true']) {
      const answer = await table.send('PATCH', search, { note: 'x' });
      expect([answer.status, answer.body.code]).toEqual([409, 'max_affected_exceeded']);
    }
    expect((await table.send('DELETE', '?n=gte.0&max_affected=9')).body.code).toBe('max_affected_exceeded');
    expect(await table.list('?note=is.null')).toHaveLength(10);
    for (const bad of ['0', '10001', 'x', ''])
      expect((await table.send('DELETE', `?n=eq.1&max_affected=${bad}`)).status).toBe(400);
    expect((await table.send('DELETE', '?n=eq.1&max_affected=5&_max_affected=5')).status).toBe(400);
  });

  test('a column named max_affected keeps its meaning', async () => {
    const table = await world.table(['max_affected:int']);
    await table.insert({ max_affected: 1 }, { max_affected: 2 }, { max_affected: 2 });
    expect((await table.send('DELETE', '?max_affected=2&_max_affected=1')).body.code).toBe(
      'max_affected_exceeded',
    );
    expect((await table.send('DELETE', '?max_affected=2')).body.deleted).toBe(2);
    expect(await table.list()).toHaveLength(1);
  });

  test('returns what Prefer asks for, and gives the rows new ETags', async () => {
    const table = await tasks();
    const [row] = await table.list('?n=eq.4');
    const before = await table.send('GET', `/${row.id}`);
    const prefer = (value: string) => ({ prefer: `return=${value}` });
    const shown = await table.send('PATCH', '?n=in.(4,5)', { note: 'a' }, prefer('representation'));
    expect(shown.body.updated).toBe(2);
    expect(shown.body.data.map(({ n, note }: { n: number; note: string }) => [n, note])).toEqual([
      [4, 'a'],
      [5, 'a'],
    ]);
    const after = await table.send('GET', `/${row.id}`);
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
    expect(shown.body.etags).toContain(after.headers.get('etag'));
    const old = { 'if-match': before.headers.get('etag') ?? '' };
    expect((await table.send('DELETE', `/${row.id}`, undefined, old)).status).toBe(412);
    const minimal = await table.send('PATCH', '?n=in.(4,5)', { note: 'b' }, prefer('minimal'));
    expect([minimal.status, minimal.text]).toEqual([204, '']);
    const gone = await table.send('DELETE', '?n=in.(4,5)', undefined, prefer('representation'));
    expect(gone.body.data.map(({ note }: { note: string }) => note)).toEqual(['b', 'b']);
  });

  test('is done once for one Idempotency-Key', async () => {
    const table = await tasks();
    const key = { 'idempotency-key': crypto.randomUUID() };
    const first = await table.send('DELETE', '?state=eq.open', undefined, key);
    await table.insert({ n: 20, state: 'open' });
    const again = await table.send('DELETE', '?state=eq.open', undefined, key);
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(await numbers(table, '?state=eq.open')).toEqual([20]);
    expect((await table.send('DELETE', '?state=eq.done', undefined, key)).body.code).toBe(
      'idempotency_mismatch',
    );
  });

  test('checks values like an update of one row, and a conflict undoes all', async () => {
    const table = await world.table(['n:int', 'name:text']);
    await done(table.shape('POST', '/indexes', { columns: ['name'], unique: true }));
    await table.insert({ n: 1, name: 'a' }, { n: 1, name: 'b' });
    const conflict = await table.send('PATCH', '?n=eq.1', { name: 'c' });
    expect([conflict.status, conflict.body.code]).toEqual([409, 'unique_violation']);
    expect((await table.send('PATCH', '?n=eq.1', { n: 'x' })).body.code).toBe('validation_failed');
    expect((await table.send('PATCH', '?n=eq.1', { id: 'x' })).status).toBe(400);
    expect((await table.list('?sort=name')).map(({ name }) => name)).toEqual(['a', 'b']);
  });
});

describe('the plan of such a change', () => {
  test('says how many rows, shows five, and changes nothing', async () => {
    const table = await tasks();
    const { status, body } = await table.send('PATCH', '?n=lt.8&dry_run=true', { note: 'x' });
    expect([status, body.plan.operation, body.plan.irreversible]).toEqual([200, 'rows.updateMany', false]);
    const [affected, , ...shown] = body.plan.changes;
    expect(affected).toMatchObject({ path: 'affected', after: 8 });
    expect(shown).toHaveLength(5);
    for (const change of shown) expect(change).toMatchObject({ before: null, after: 'x', effect: 'update' });
    const deletes = (await table.send('DELETE', '?n=lt.8&dry_run=true')).body.plan;
    expect([deletes.operation, deletes.irreversible]).toEqual(['rows.deleteMany', true]);
    expect(await table.list('?note=is.null')).toHaveLength(10);
  });

  test('binds the set of rows by If-Plan', async () => {
    const table = await tasks();
    const plan = async () =>
      (await table.send('DELETE', '?state=eq.open&dry_run=true')).body.plan.fingerprint as string;
    const execute = (fingerprint: string) =>
      table.send('DELETE', '?state=eq.open', undefined, { 'if-plan': `"${fingerprint}"` });
    const first = await plan();
    expect(await plan()).toBe(first);
    await table.insert({ n: 30, state: 'open' });
    expect((await execute(first)).body.code).toBe('plan_stale');
    const second = await plan();
    await table.send('PATCH', '?n=eq.30', { note: 'changed' });
    expect((await execute(second)).body.code).toBe('plan_stale');
    expect((await execute(await plan())).body.deleted).toBe(6);
  });
});

describe('rights', () => {
  test('rows that the caller may not change are not in the set', async () => {
    const orders = await world.table(['by:uuid', 'dish:text', 'price:int'], { owner_column: 'by' });
    await done(
      orders.shape('PUT', '/access', {
        read: ['any'],
        insert: ['own'],
        update: ['own'],
        delete: ['own'],
        columns: { price: { write: ['none'] } },
      }),
    );
    await orders.insert(
      { by: ada.id, dish: 'soup', price: 1 },
      { by: ada.id, dish: 'cake', price: 2 },
      { by: ben.id, dish: 'soup', price: 3 },
    );
    const plan = (await ben.of(orders)('PATCH', '?price=gt.0&dry_run=true', { dish: 'tea' })).body.plan;
    expect(plan.changes[0]).toMatchObject({ path: 'affected', after: 1 });
    expect((await ben.of(orders)('PATCH', '?price=gt.0&max_affected=1', { dish: 'tea' })).body.updated).toBe(
      1,
    );
    expect((await orders.list('?sort=price')).map(({ dish }) => dish)).toEqual(['soup', 'cake', 'tea']);
    expect((await ben.of(orders)('PATCH', '?price=gt.0', { price: 0 })).status).toBe(400);
    expect((await ben.of(orders)('PATCH', '?price=gt.0', { by: ada.id })).status).toBe(400);
    expect((await ada.of(orders)('DELETE', '?dish=eq.soup')).body.deleted).toBe(1);
    expect(await orders.list()).toHaveLength(2);
  });

  test('a row that would leave what the caller may change is refused, with all others', async () => {
    const table = await world.table(['state:text', 'n:int']);
    await done(
      table.shape('PUT', '/access', {
        read: ['any'],
        update: ['or=(state.eq.open,state.eq.ready)'],
        delete: ['none'],
      }),
    );
    await table.insert({ state: 'open', n: 1 }, { state: 'open', n: 2 }, { state: 'paid', n: 3 });
    const send = ada.of(table);
    expect((await send('PATCH', '?n=gt.0', { state: 'paid' })).body.code).toBe('forbidden');
    expect((await send('PATCH', '?n=gt.0', { state: 'ready' })).body.updated).toBe(2);
    expect((await table.list('?sort=n')).map(({ state }) => state)).toEqual(['ready', 'ready', 'paid']);
    expect((await send('DELETE', '?n=gt.0')).body.code).toBe('forbidden');
  });

  test('the filter sees neither hidden rows nor hidden columns', async () => {
    const table = await world.table(['by:uuid', 'n:int', 'salary:int'], { owner_column: 'by' });
    await done(
      table.shape('PUT', '/access', {
        read: ['own'],
        update: ['any'],
        delete: ['any'],
        columns: { salary: { read: ['none'] } },
      }),
    );
    await table.insert({ by: ada.id, n: 1, salary: 10 }, { by: ben.id, n: 1, salary: 20 });
    const send = ada.of(table);
    expect((await send('PATCH', '?salary=gt.15', { n: 2 })).body.code).toBe('unknown_column');
    const updated = await send('PATCH', '?n=eq.1', { n: 2 }, { prefer: 'return=representation' });
    expect(updated.body.updated).toBe(1);
    expect(updated.body.data[0].salary).toBeUndefined();
    expect((await table.list('?sort=salary')).map(({ n }) => n)).toEqual([2, 1]);
    expect((await send('DELETE', '?n=gt.0&dry_run=true')).body.plan.changes[0].after).toBe(1);
  });

  test('of a grant with a policy: rows are filtered, masked values compared, and what is shown is in the access log', async () => {
    const { tenant, app, owner } = world;
    await done(owner.call('POST', `${app.base}/co-owners`, { user_id: tenant.admin.id }));
    const people = await world.table(['region:text', 'email:text', 'n:int']);
    await people.insert(
      { region: 'eu', email: 'ada@example.com', n: 1 },
      { region: 'us', email: 'amy@example.com', n: 2 },
    );
    const post = (path: string, body: object) =>
      done(tenant.admin.call('POST', `${tenant.base}/${path}`, body));
    const connector = await post('connectors', {
      name: `bulk-${people.name}`,
      kind: 'tables',
      app: app.slug,
      writable: true,
    });
    const actions = ['read', 'update', 'delete'];
    const preset = await post('presets', { name: `bulk-${people.name}`, actions });
    const policy = await post('access-policies', {
      name: `bulk-${people.name}`,
      connector_id: connector.id,
      actions,
      row_filter: 'region=eq.eu',
      masks: [{ column: 'email', kind: 'email' }],
    });
    const clerk = await newMember(tenant);
    await post('grants', {
      subject_id: clerk.id,
      connector_id: connector.id,
      preset_id: preset.id,
      policy_ids: [policy.id],
    });
    const path = `/data/${tenant.slug}/${app.slug}/${people.name}`;
    const connected = `/data/${tenant.slug}/_connectors/${connector.slug}/${app.slug}/${people.name}`;
    for (const method of ['PATCH', 'DELETE']) {
      const refused = await clerk.call(
        method,
        `${connected}?n=gt.0`,
        method === 'PATCH' ? { n: 7 } : undefined,
      );
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    }
    const change = (search: string, values: object, headers?: Record<string, string>) =>
      clerk.call('PATCH', `${path}${search}`, values, headers);
    expect((await change('?email=eq.ada@example.com', { n: 7 })).body.updated).toBe(0);
    expect((await change('?email=sw.a', { email: 'x' })).status).toBe(400);
    const shown = await change('?email=sw.a', { n: 8 }, { prefer: 'return=representation' });
    expect([shown.body.updated, shown.body.data[0].email]).toEqual([1, 'a•••@example.com']);
    expect((await people.list('?sort=n')).map(({ n }) => n)).toEqual([2, 8]);
    const log = await done(tenant.admin.call('GET', `${tenant.base}/access/log?connector=${connector.id}`));
    expect(log.items).toMatchObject([{ action: 'read', rows: 1, masked_columns: ['email'] }]);
  });

  test('of somebody who may not read the table do not include it', async () => {
    const table = await world.table(['n:int'], { access: { read: ['none'], write: ['any'] } });
    expect((await ada.of(table)('DELETE', '?n=eq.1')).body.code).toBe('forbidden');
  });
});
