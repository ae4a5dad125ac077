import { expect, test } from 'bun:test';
import { done, newMember } from './support/people.ts';
import { until } from './support/until.ts';
import { describeWarehouses, newPreset, openWarehouse, startWarehouse } from './support/warehouses.ts';

describeWarehouses('values behind a connector of kind', startWarehouse, (warehouse, kind) => {
  const isPostgres = kind === 'postgres';
  const quoted = (name: string) => (isPostgres ? `"${name}"` : `\`${name}\``);

  async function open(content: string, login?: 'writer') {
    await warehouse.query(content);
    return openWarehouse(warehouse, login && { writable: true }, login);
  }

  test('are masked whatever they are', async () => {
    const double = isPostgres ? 'float8' : 'double';
    const exact = isPostgres ? 'numeric' : 'decimal(65)';
    const opened =
      await open(`create table sales.odd (id int primary key, email varchar(100), size ${double}, total ${exact});
      insert into sales.odd values (1, 'ada@example.com', 1e306, ${isPostgres ? '1e400' : '1e60'}),
        (2, '@ada@social.example', 5e-324, 10000000001), (3, 'ada@example.com, pin 1234', 1.26, 0), (4, null, null, null)`);
    const { t, connectorId, grant, get } = opened;
    const masks = (to: number) => [
      { column: 'email', kind: 'email' },
      { column: 'size', kind: 'round', args: { to } },
      { column: 'total', kind: 'round', args: { to } },
    ];
    const named = { name: 'Masked', connector_id: connectorId, resource_path: 'sales/odd' };
    const policy = await done(
      t.admin.call('POST', `${t.base}/access-policies`, { ...named, masks: masks(0.1) }),
    );
    await grant({ scope_resource_paths: ['sales/odd'], policy_ids: [policy.id] });
    const { data } = await done(get('sales/odd?select=id,email,size'));
    expect(data).toEqual([
      { id: 1, email: 'a•••@example.com', size: null },
      { id: 2, email: '@xxx@xxxxxx.xxxxxxx', size: 0 },
      { id: 3, email: 'xxx@xxxxxxx.xxx, xxx 0000', size: 1.3 },
      { id: 4, email: null, size: null },
    ]);
    await done(t.admin.call('PATCH', `${t.base}/access-policies/${policy.id}`, { masks: masks(1e9) }));
    await until('the policy is in use', async () => (await get('sales/odd/3')).body.size === 0, 5_000);
    const rounded = await done(get('sales/odd?sort=size&select=id,size,total'));
    expect(rounded.data).toEqual([
      { id: 2, size: 0, total: 10000000000 },
      { id: 3, size: 0, total: 0 },
      { id: 1, size: 1e306, total: isPostgres ? null : 1e60 },
      { id: 4, size: null, total: null },
    ]);
  });

  test('keep all of their digits in keys, filters and changes', async () => {
    const key = isPostgres ? 'numeric(20)' : 'bigint unsigned';
    const opened = await open(
      `create table sales.exact (id ${key} primary key, amount numeric(30, 10));
       insert into sales.exact values (1445678901234567890, 12345678901234567.5), (1445678901234567891, 12345678901234567.6)`,
      'writer',
    );
    const [one, other] = ['1445678901234567890', '1445678901234567891'];
    const { t, grant } = opened;
    const all = await newPreset(opened, 'read', 'insert', 'update', 'delete');
    const writer = await newMember(t);
    await grant({ subject_id: writer.id, preset_id: all });
    const call = (method: string, path: string, body?: unknown) =>
      writer.call(method, `/data/${t.id}/_connectors/warehouse/sales/exact${path}`, body);
    const ids = async (search: string) =>
      (await done(call('GET', `?${search}`))).data.map(({ id }: { id: string }) => id);
    expect((await done(call('GET', `/${other}`))).id).toBe(other);
    expect(await ids(`id=eq.${one}`)).toEqual([one]);
    expect(await ids(`id=gt.${one}`)).toEqual([other]);
    expect(await ids(`id=in.(${other},5)`)).toEqual([other]);
    expect(await ids('amount=neq.12345678901234567.6')).toEqual([one]);
    // A value is accepted in the form in which it is read.
    const amount = '12345678901234567.7000000000';
    expect((await done(call('PATCH', `/${one}`, { amount }))).amount).toBe(amount);
    expect((await done(call('PATCH', `/${one}`, '{"amount":12345678901234567.8}'))).amount).toBe(
      '12345678901234567.8000000000',
    );
    expect((await call('PATCH', `/${one}`, { amount: 'many' })).status).toBe(400);
    const inserted = await done(call('POST', '', { id: '18446744073709551615', amount: 1.5 }));
    expect(inserted.id).toBe('18446744073709551615');
    await done(call('DELETE', `/${inserted.id}`));
    expect(await ids('sort=id')).toEqual([one, other]);
  });

  test('are filtered by columns of any name', async () => {
    const { t, connectorId, grant, get } = await open(
      `create table sales.names (id int primary key, ${quoted('CustomerID')} int, ${quoted('Größe')} int, ${quoted('a.b')} int);
       insert into sales.names values (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)`,
    );
    const row_filter = 'CustomerID=lt.3&Größe=lt.3&a.b=lt.3';
    const policy = await done(
      t.admin.call('POST', `${t.base}/access-policies`, {
        name: 'Two',
        connector_id: connectorId,
        resource_path: 'sales/names',
        row_filter,
        columns: { mode: 'deny', names: ['a.b'] },
      }),
    );
    await grant({ scope_resource_paths: ['sales/names'], policy_ids: [policy.id] });
    for (const name of ['CustomerID', 'Größe'])
      expect((await done(get(`sales/names?${encodeURIComponent(name)}=gte.2&select=id`))).data).toEqual([
        { id: 2 },
      ]);
    expect((await done(get('sales/names/_count?CustomerID=gte.1'))).count).toBe(2);
    const answers = await Promise.all(['a.b', 'a.c'].map((name) => get(`sales/names?${name}=gte.1`)));
    const [hidden, absent] = answers.map(({ status, body }) => [status, body.code]);
    expect(hidden).toEqual([400, 'unknown_parameter']);
    expect(hidden).toEqual(absent);
  });
});
