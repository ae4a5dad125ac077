import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { governedWorld } from './support/governed.ts';
import { bearer, type Call, done, newMember, type Person } from './support/people.ts';
import type { TestTable } from './support/rows.ts';
import { until } from './support/until.ts';

const world = useFixture(governedWorld);
const ada = useFixture(() => newMember(world.tenant));
const mona = useFixture(async () => {
  const person = await newMember(world.tenant);
  const role = { role: 'manager', user: person.id };
  await done(world.owner.call('POST', `${world.app.base}/roles`, role));
  return person;
});

const through = async (person: Person, table: TestTable): Promise<Call> =>
  world.as(bearer({ token: await world.through(person) }), table);

/** Customers of two regions, each with one order; notes on orders have an owner. */
async function shop(access: { customers?: unknown; notes?: unknown } = {}) {
  const customers = await world.table(
    ['name:text', 'region:text', 'vat:text:nullable'],
    access.customers ? { access: access.customers } : {},
  );
  const orders = await world.table(['no:int', `customer:ref:${customers.name}:nullable`], {
    access: 'read-only',
  });
  const notes = await world.table([`order_id:ref:${orders.name}`, 'by:uuid:nullable', 'text:text'], {
    ...(access.notes ? { access: access.notes } : { owner_column: 'by' }),
  });
  const [eu, us] = await customers.insert(
    { name: 'Europe', region: 'eu', vat: 'DE1' },
    { name: 'America', region: 'us', vat: 'US1' },
  );
  const [first, second] = await orders.insert(
    { no: 1, customer: eu.id },
    { no: 2, customer: us.id },
    { no: 3 },
  );
  return { customers, orders, notes, eu, us, first, second };
}

describe('related rows of a table with rules', () => {
  test('that the caller does not see are absent, in lists, filters, sorts, counts and cursors', async () => {
    const { orders } = await shop({ customers: { preset: 'read-only', read: ['region=eq.eu'] } });
    const send = await through(ada, orders);
    const list = async (search: string) => (await done(send('GET', `?${search}`))).data;
    expect(await list('select=no,customer(name)&sort=no')).toEqual([
      { no: 1, customer: { name: 'Europe' } },
      { no: 2, customer: null },
      { no: 3, customer: null },
    ]);
    expect(await list('select=no,customer!inner(name)')).toEqual([{ no: 1, customer: { name: 'Europe' } }]);
    expect(await list('select=no,c:customer(name)&c=is.null&sort=no')).toMatchObject([{ no: 2 }, { no: 3 }]);
    // The hidden row must make no difference, whatever it is compared with.
    for (const test of ['eq.America', 'neq.Europe', 'gt.A', 'like.A*', 'in.(America)', 'not.is.null'])
      expect([
        test,
        (await list(`select=no&customer.name=${test}`)).map(({ no }: { no: number }) => no).includes(2),
      ]).toEqual([test, false]);
    expect(await list('select=no&customer.name=is.null&sort=no')).toEqual([{ no: 2 }, { no: 3 }]);
    expect((await done(send('GET', '/_count?customer.region=eq.us'))).count).toBe(0);
    expect((await done(send('GET', '/_count?or=(customer.region.eq.us,no.eq.3)'))).count).toBe(1);
    // Sorted as equal to an order without a customer: by the id.
    expect(await list('select=no&sort=customer.name')).toEqual([{ no: 1 }, { no: 2 }, { no: 3 }]);
    expect(await list('select=no&sort=-customer.name')).toEqual([{ no: 3 }, { no: 2 }, { no: 1 }]);
    const { next_cursor } = await done(send('GET', '?select=no&sort=customer.region&per_page=2'));
    expect(Buffer.from(next_cursor.split('.')[0], 'base64url').toString()).not.toContain('"us"');
  });

  test('show what the caller sees of them: own rows, hidden and masked columns', async () => {
    const { orders, notes, first } = await shop();
    const [adaNotes, monaNotes] = [await through(ada, notes), await through(mona, notes)];
    await done(adaNotes('POST', '', { order_id: first.id, text: 'by Ada' }));
    await done(monaNotes('POST', '', { order_id: first.id, text: 'by Mona' }));
    const seen = async (person: Person) =>
      (await done((await through(person, orders))('GET', `?select=no,n:${notes.name}(text)&no=1`))).data[0].n;
    expect(await seen(ada)).toEqual([{ text: 'by Ada' }]);
    expect(await seen(mona)).toEqual([{ text: 'by Mona' }]);
    expect(await orders.list(`?select=no,n:${notes.name}(text)&no=1&n.sort=text`)).toEqual([
      { no: 1, n: [{ text: 'by Ada' }, { text: 'by Mona' }] },
    ]);
  });

  test('follow a change of the rules and of the columns between two requests of the same form', async () => {
    const { customers, orders } = await shop({ customers: { preset: 'read-only' } });
    const send = await through(ada, orders);
    const ask = (no: number, more = '') => send('GET', `?select=no,customer(*)&no=eq.${no}${more}`);
    const named = async (no: number) => (await done(ask(no))).data[0].customer?.name;
    expect([await named(1), await named(2), await named(1)]).toEqual(['Europe', 'America', 'Europe']);
    expect((await done(ask(2, '&customer.name=eq.Europe'))).data).toEqual([]);
    const sendPlain = await through(ada, customers);
    const plain = async () => (await done(sendPlain('GET', '?sort=name'))).data as Record<string, unknown>[];
    for (const _ of [1, 2]) expect((await plain()).map(({ name }) => name)).toEqual(['America', 'Europe']);
    await done(customers.shape('PUT', '/access', { read: ['region=eq.eu'] }));
    expect([await named(1), await named(2)]).toEqual(['Europe', undefined]);
    expect((await plain()).map(({ name }) => name)).toEqual(['Europe']);
    await done(customers.shape('POST', '/columns', { name: 'city', type: 'text', nullable: true }));
    expect((await done(ask(1))).data[0].customer).toMatchObject({ city: null });
    expect(await plain()).toMatchObject([{ name: 'Europe', city: null }]);
    await done(customers.shape('PUT', '/access', { read: ['role:manager'] }));
    expect((await ask(1)).body.code).toBe('unknown_column');
  });

  test('answer like unknown names where the table, the column or the reference is hidden', async () => {
    const hidden = await shop({ customers: { preset: 'read-only', read: ['role:manager'] } });
    const same = async (send: Call, known: string, unknown: string) => {
      const [one, other] = [await send('GET', `?${known}`), await send('GET', `?${unknown}`)];
      const { request_id: _, ...body } = one.body;
      const { request_id: __, ...expected } = other.body;
      const name = (text: string) =>
        /([a-z0-9_]+)(?=\(|\.|=)/g.exec(text.replace(/^(select|sort)=/, ''))?.[1] ?? '';
      const text = JSON.stringify(body).replaceAll(name(known), '?');
      expect([one.status, text]).toEqual([
        other.status,
        JSON.stringify(expected).replaceAll(name(unknown), '?'),
      ]);
      expect(one.status).toBe(400);
    };
    const send = await through(ada, hidden.orders);
    await same(send, 'select=customer(name)', 'select=nothing(name)');
    await same(send, 'select=customer(nope)', 'select=nothing(nope)');
    await same(send, 'customer.name=eq.x', 'nothing.name=eq.x');
    await same(send, 'sort=customer.name', 'sort=nothing.name');
    // Nor does an error name the table.
    await done(hidden.orders.shape('PUT', '/access', { preset: 'read-write' }));
    const wrong = { no: 4, customer: crypto.randomUUID() };
    const detailFor = async (call: Call, given: object) => (await call('POST', '', given)).body.detail;
    expect(await detailFor(send, wrong)).toBe('customer refers to a row that does not exist');
    const named = `customer refers to a row of ${hidden.customers.name} that does not exist`;
    expect(await detailFor(await through(mona, hidden.orders), wrong)).toBe(named);
    expect((await (await through(mona, hidden.orders))('GET', '?select=customer(name)')).status).toBe(200);

    const column = await shop({
      customers: { preset: 'read-only', columns: { vat: { read: ['role:manager'] } } },
    });
    const other = await through(ada, column.orders);
    for (const search of [
      'select=customer(vat)',
      'customer.vat=eq.DE1',
      'sort=customer.vat',
      'or=(customer.vat.eq.DE1,no.eq.1)',
    ])
      expect([search, (await other('GET', `?${search}`)).body.code]).toEqual([search, 'unknown_column']);
    expect((await done(other('GET', '?select=customer(*)&no=1'))).data[0].customer).not.toHaveProperty('vat');

    // The reference itself is hidden: rows of notes do not say to which order they belong.
    const reference = await shop({
      notes: { preset: 'read-only', columns: { order_id: { read: ['role:manager'] } } },
    });
    const visitor = await through(ada, reference.orders);
    await same(visitor, `select=${reference.notes.name}(text)`, 'select=nothing(text)');
    const manager = await through(mona, reference.orders);
    expect((await manager('GET', `?select=${reference.notes.name}(text)`)).status).toBe(200);
  });

  test('obey policies and their masks, and follow a change of them', async () => {
    const { customers, orders } = await shop({ customers: { preset: 'read-only' } });
    const send = await through(ada, orders);
    const list = async () =>
      (await done(send('GET', '?select=no,customer(name,region)&sort=no'))).data.map(
        ({ customer }: { customer: unknown }) => customer,
      );
    expect(await list()).toEqual([{ name: 'Europe', region: 'eu' }, { name: 'America', region: 'us' }, null]);
    const { tenant, app } = world;
    const policy = {
      name: `policy ${customers.name}`,
      connector_id: world.connectorId,
      resource_path: `${app.slug}/${customers.name}`,
      row_filter: 'region=eq.us',
      masks: [{ column: 'name', kind: 'partial', args: { first: 1, last: 0 } }],
      enforced: true,
    };
    const { id } = await done(tenant.admin.call('POST', `${tenant.base}/access-policies`, policy));
    await until('the policy applies', async () => (await list())[0] === null);
    const [, masked] = await list();
    expect(masked.name).toMatch(/^A[^m]/);
    expect((await done(send('GET', '?select=no&customer.name=eq.America'))).data).toEqual([]);
    await done(tenant.admin.call('DELETE', `${tenant.base}/access-policies/${id}`));
    await until('the policy is gone', async () => (await list())[0]?.name === 'Europe');
  });

  test('of a governed table are in the access log with their own columns and number', async () => {
    const { customers, orders } = await shop({ customers: { preset: 'read-only' } });
    const { tenant, app } = world;
    const policy = {
      name: `logged ${customers.name}`,
      connector_id: world.connectorId,
      resource_path: `${app.slug}/${customers.name}`,
      row_filter: 'region=neq.none',
      enforced: true,
    };
    await done(tenant.admin.call('POST', `${tenant.base}/access-policies`, policy));
    const send = await through(ada, orders);
    const path = `${app.slug}/${customers.name}`;
    const entries = async () => {
      await done(send('GET', '?select=no,customer(name)'));
      const log = await done(tenant.admin.call('GET', `${tenant.base}/access/log?per_page=50`));
      return log.items.filter(({ resource_path }: { resource_path: string }) => resource_path === path);
    };
    await until('the read is logged', async () => (await entries()).length > 0);
    const [entry] = await entries();
    expect(entry).toMatchObject({ action: 'read', columns: ['name'] });
    expect(entry.rows).toBeGreaterThan(0);
  });
});
