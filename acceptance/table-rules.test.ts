import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { done, type Person } from './support/people.ts';
import { lines, ndjson, rowsWorld, type Visitor } from './support/rows.ts';
import { until } from './support/until.ts';

const world = useFixture(rowsWorld);
/** Ada and Ben order lunch, Mona is a manager. */
const ada = useFixture(() => world.visitor());
const ben = useFixture(() => world.visitor());
const mona = useFixture(() => world.visitor('manager'));

const giveRole = (person: Person, role: string) =>
  done(
    world.owner.call('POST', `${world.tenant.base}/apps/${world.app.id}/roles`, { role, user: person.id }),
  );

const statuses = async (calls: readonly Promise<{ status: number }>[]) =>
  (await Promise.all(calls)).map(({ status }) => status);

describe('a new table', () => {
  test('without an owner column can be read by the users of the app, and changed by owners only', async () => {
    const menu = await world.table(['dish:text', 'price:int']);
    const [soup] = await menu.insert({ dish: 'soup', price: 5 });
    expect((await menu.shape('GET', '/access')).body).toMatchObject({ preset: 'read-only', read: ['any'] });
    const send = ada.of(menu);
    expect((await send('GET')).body.data).toEqual([soup]);
    const changes = [
      send('PATCH', `/${soup.id}`, { price: 1 }),
      send('DELETE', `/${soup.id}`),
      send('POST', '', { dish: 'free', price: 0 }),
      send('POST', '', lines([{ dish: 'free', price: 0 }]), ndjson),
      send('PATCH', `/${soup.id}?dry_run=true`, { price: 1 }),
    ];
    expect(await statuses(changes)).toEqual([403, 403, 403, 403, 403]);
    expect(await menu.list()).toEqual([soup]);
  });

  test('with an owner column belongs to each user by their rows', async () => {
    const notes = await world.table(['by:uuid', 'text:text'], { owner_column: 'by' });
    const mine = await done(ada.of(notes)('POST', '', { text: 'mine' }));
    expect(mine.by).toBe(ada.id);
    expect((await ben.of(notes)('GET')).body.data).toEqual([]);
    const others = ben.of(notes);
    expect(
      await statuses([others('GET', `/${mine.id}`), others('PATCH', `/${mine.id}`, { text: 'x' })]),
    ).toEqual([404, 404]);
  });

  test('can begin with a preset or with rules', async () => {
    const open = await world.table(['a:int'], { access: 'read-write' });
    expect((await open.shape('GET', '/access')).body).toMatchObject({
      preset: 'read-write',
      open_to_changes: true,
    });
    expect((await ada.of(open)('POST', '', { a: 1 })).status).toBe(201);
    const closed = await world.table(['a:int'], { access: 'closed' });
    expect((await ada.of(closed)('GET')).status).toBe(404);
    const ruled = await world.table(['a:int'], { access: { read: ['role:manager'] } });
    expect(await statuses([ada.of(ruled)('GET'), mona.of(ruled)('GET')])).toEqual([404, 200]);
  });
});

describe('lunch', () => {
  test('everybody reads the menu and only managers change it', async () => {
    const menu = await world.table(['dish:text', 'price:int']);
    await done(menu.shape('PUT', '/access', { read: ['any'], write: ['role:manager'] }));
    const soup = await done(mona.of(menu)('POST', '', { dish: 'soup', price: 5 }));
    expect((await ada.of(menu)('GET')).body.data).toEqual([soup]);
    expect((await ada.of(menu)('PATCH', `/${soup.id}`, { price: 0 })).status).toBe(403);
    expect((await mona.of(menu)('PATCH', `/${soup.id}`, { price: 6 })).body.price).toBe(6);
  });

  test('people see and change their own orders, managers see all', async () => {
    const orders = await world.table(['by:uuid', 'dish:text'], { owner_column: 'by' });
    const rules = { read: ['own', 'role:manager'], insert: ['own'], update: ['own'], delete: ['none'] };
    await done(orders.shape('PUT', '/access', rules));
    const soup = await done(ada.of(orders)('POST', '', { dish: 'soup' }));
    const cake = await done(ben.of(orders)('POST', '', { dish: 'cake' }));
    const dishes = async (visitor: Visitor) =>
      (await visitor.of(orders)('GET', '?sort=dish')).body.data.map(({ dish }: { dish: string }) => dish);
    expect([await dishes(ada), await dishes(ben), await dishes(mona)]).toEqual([
      ['soup'],
      ['cake'],
      ['cake', 'soup'],
    ]);
    expect(
      await statuses([
        ada.of(orders)('PATCH', `/${soup.id}`, { dish: 'tea' }),
        ada.of(orders)('PATCH', `/${cake.id}`, { dish: 'tea' }),
        ada.of(orders)('DELETE', `/${soup.id}`),
        // She sees the order, so it is no secret that it exists.
        mona.of(orders)('PATCH', `/${cake.id}`, { dish: 'tea' }),
        ada.of(orders)('POST', '', { dish: 'tea', by: ben.id }),
      ]),
    ).toEqual([200, 404, 403, 403, 400]);
    expect((await mona.of(orders)('GET', '/_count')).body.count).toBe(2);
  });

  test('a role that is taken away ends within a second', async () => {
    const menu = await world.table(['dish:text'], { access: { read: ['any'], write: ['role:cook'] } });
    await giveRole(ben, 'cook');
    expect(await giveRole(ben, 'cook')).toMatchObject({ role: 'cook', changed: false });
    expect((await ben.of(menu)('POST', '', { dish: 'pie' })).status).toBe(201);
    const role = `${world.tenant.base}/apps/${world.app.id}/roles/cook/people/${ben.id}`;
    expect((await world.owner.call('DELETE', role)).status).toBe(204);
    await until(
      'the role is gone',
      async () => (await ben.of(menu)('POST', '', { dish: 'pie' })).status === 403,
      1_000,
    );
  });
});

describe('a rule with a filter', () => {
  test('is judged on the row before and after a change', async () => {
    const tasks = await world.table(['state:text', 'title:text']);
    await done(
      tasks.shape('PUT', '/access', {
        read: ['any'],
        insert: ['state=eq.open'],
        update: ['state=neq.closed'],
        delete: [{ who: 'role:manager', where: 'state=eq.open' }],
      }),
    );
    const [closed] = await tasks.insert({ state: 'closed', title: 'done' });
    const send = ada.of(tasks);
    const open = await done(send('POST', '', { state: 'open', title: 'a' }));
    const batch = lines([
      { state: 'open', title: 'b' },
      { state: 'closed', title: 'c' },
    ]);
    expect(
      await statuses([
        send('POST', '', { state: 'closed', title: 'b' }),
        send('POST', '', batch, ndjson),
        send('PATCH', `/${closed.id}`, { title: 'again' }),
        send('PATCH', `/${open.id}`, { state: 'closed' }),
        send('PATCH', `/${open.id}`, { title: 'b' }),
        send('DELETE', `/${open.id}`),
      ]),
    ).toEqual([403, 403, 403, 403, 200, 403]);
    expect((await tasks.list()).length).toBe(2);
    expect((await mona.of(tasks)('DELETE', `/${open.id}`)).status).toBe(204);
  });

  test('may compare with the values before and after', async () => {
    const bids = await world.table(['amount:int'], {
      access: { read: ['any'], insert: ['any'], update: ['amount=gte.@old.amount'] },
    });
    const [bid] = await bids.insert({ amount: 5 });
    const send = ada.of(bids);
    expect((await send('PATCH', `/${bid.id}`, { amount: 4 })).status).toBe(403);
    expect((await send('PATCH', `/${bid.id}`, { amount: 6 })).body.amount).toBe(6);
  });

  test('may use attributes of the caller; without the attribute it is false', async () => {
    const sales = await world.table(['region:text'], { access: { read: ['region=eq.@me.region'] } });
    await sales.insert({ region: 'eu' }, { region: 'us' });
    expect((await ben.of(sales)('GET')).status).toBe(404);
    await done(
      world.tenant.admin.call('PATCH', `${world.tenant.base}/members/${ada.id}`, {
        attributes: { region: 'eu' },
      }),
    );
    await until('the attribute is known', async () => (await ada.of(sales)('GET')).status === 200, 1_000);
    const { data } = (await ada.of(sales)('GET')).body;
    expect(data.map(({ region }: { region: string }) => region)).toEqual(['eu']);
  });

  test('that names no column of the table, or no known word, is refused', async () => {
    const table = await world.table(['a:int']);
    for (const read of [['nobody'], ['colour=eq.red'], ['a=eq.red'], ['own'], ['role:'], ['a=gt.@new.a']]) {
      const { status, body } = await table.shape('PUT', '/access', { read });
      expect([read, status, body.code]).toEqual([read, 400, 'validation_failed']);
    }
  });

  test('with a placeholder that is not known is refused by its name', async () => {
    const table = await world.table(['a:text']);
    for (const [action, where, named] of [
      ['read', 'a=eq.@mee.region', '@mee.region'],
      ['read', 'or=(a.eq.x,a.in.(@you.x,y))', '@you.x'],
      ['read', 'a=eq.@me', '@me'],
      ['read', 'a=eq.@new.a', '@new.a'],
      ['insert', 'a=neq.@old.a', '@old.a'],
      ['update', 'a=in.(@old.a)', '@old.a'],
    ] as const) {
      const { status, body } = await table.shape('PUT', '/access', { [action]: [where] });
      expect([where, status, body.code]).toEqual([where, 400, 'validation_failed']);
      expect(body.detail).toContain(`"${named}" is not a placeholder here; known are @me.id`);
    }
    for (const where of ['a=ew.@example.com', 'a=eq.@ada', 'a=neq.@old.a', 'a=eq.@me.region'])
      await done(table.shape('PUT', '/access', { update: [where] }));
  });

  test('follows the rename of a column, which cannot be dropped', async () => {
    const table = await world.table(['a:int'], { access: { read: ['a=gt.1'] } });
    await table.insert({ a: 1 }, { a: 2 });
    await done(table.shape('PATCH', '/columns/a', { name: 'b' }));
    expect((await table.shape('GET', '/access')).body.read).toEqual(['b=gt.1']);
    expect((await ada.of(table)('GET')).body.data.length).toBe(1);
    expect((await table.shape('DELETE', '/columns/b')).body.code).toBe('column_in_use');
  });
});

describe('a column with rules', () => {
  test('does not exist for those who may not read it', async () => {
    const staff = await world.table(['name:text', 'salary:int'], {
      access: {
        read: ['any'],
        write: ['any'],
        columns: { salary: { read: ['role:manager'], write: ['none'] } },
      },
    });
    const [row] = await staff.insert({ name: 'Eve', salary: 9 });
    const send = ada.of(staff);
    expect(Object.keys((await send('GET', `/${row.id}`)).body)).toEqual([
      'id',
      'name',
      'created_at',
      'updated_at',
    ]);
    expect((await mona.of(staff)('GET', `/${row.id}`)).body.salary).toBe(9);
    const unknown = async (path: string, name: string) => {
      const { status, body } = await send('GET', path.replace('NAME', name));
      return [status, JSON.stringify(body).replaceAll(name, 'NAME').replace(body.request_id, '')];
    };
    for (const path of [
      '?select=NAME',
      '?NAME=gt.1',
      '?sort=NAME',
      '?or=(NAME.gt.1,name.eq.x)',
      '/_count?NAME=1',
    ])
      expect(await unknown(path, 'salary')).toEqual(await unknown(path, 'wealth'));
    expect((await send('PATCH', `/${row.id}`, { salary: 1 })).body.code).toBe('unknown_column');
    expect((await mona.of(staff)('PATCH', `/${row.id}`, { salary: 1 })).body.errors[0].code).toBe(
      'read_only',
    );
    const before = (await send('GET', `/${row.id}`)).headers.get('etag');
    await done(staff.send('PATCH', `/${row.id}`, { salary: 10 }));
    const changed = await send('PATCH', `/${row.id}`, { name: 'Eva' }, { 'if-match': before ?? '' });
    // Only what they see counts, and the time of the change is a part of it.
    expect(changed.status).toBe(412);
    const now = (await send('GET', `/${row.id}`)).headers.get('etag') ?? '';
    expect((await send('PATCH', `/${row.id}`, { name: 'Eva' }, { 'if-match': now })).status).toBe(200);
  });

  test('is not named by a conflict with those who may not read it', async () => {
    const table = await world.table(['name:text', 'shelf:text:none'], {
      access: { read: ['any'], write: ['any'], columns: { shelf: { read: ['role:manager'] } } },
    });
    for (const columns of [['shelf'], ['name', 'shelf']])
      await done(table.shape('POST', '/indexes', { columns, unique: true }));
    await table.insert({ name: 'Tea' });
    const lines = { 'content-type': 'application/x-ndjson' };
    for (const [body, headers] of [[{ name: 'Pot' }], ['{"name":"Pot"}\n', lines]] as const) {
      const hidden = await ada.of(table)('POST', '', body, headers);
      expect([hidden.status, hidden.body.code]).toEqual([409, 'unique_violation']);
      expect(hidden.text).not.toContain('shelf');
      expect(hidden.body.detail).toBe('A row with this value already exists.');
      const shown = await mona.of(table)('POST', '', body, headers);
      expect(shown.body.errors[0].column).toBe('shelf');
    }
  });

  test('may be shown on one’s own rows only', async () => {
    const people = await world.table(['who:uuid', 'phone:text:nullable'], {
      owner_column: 'who',
      access: { read: ['any'], insert: ['own'], columns: { phone: { read: ['own'] } } },
    });
    await done(ada.of(people)('POST', '', { phone: '1' }));
    await done(ben.of(people)('POST', '', { phone: '2' }));
    const phones = (await ada.of(people)('GET', '?select=phone&sort=phone')).body.data;
    expect(phones).toEqual([{ phone: '1' }, { phone: null }]);
    expect((await ada.of(people)('GET', '/_count?phone=2')).body.count).toBe(0);
  });
});
