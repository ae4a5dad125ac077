import { beforeAll, describe, expect, test } from 'bun:test';
import { done } from './support/people.ts';
import { type RowsWorld, rowsWorld, type TestTable } from './support/rows.ts';

let world: RowsWorld;
let orders: TestTable;

beforeAll(async () => {
  world = await rowsWorld();
  orders = await world.table([
    'status:text:nullable',
    'amount:bigint:nullable',
    'weight:float:nullable',
    'pieces:int',
    'paid:bool',
    'at:timestamptz',
    'note:jsonb:nullable',
  ]);
  const base = { weight: null, pieces: 1, paid: false, at: '2026-01-31T23:30:00Z', note: null };
  await orders.batch([
    { ...base, status: 'open', amount: '9223372036854775807', weight: 0.5, pieces: 2147483647 },
    { ...base, status: 'open', amount: '9223372036854775807', weight: 1.25, pieces: 2147483647 },
    { ...base, status: 'paid', amount: 10, paid: true, at: '2026-01-31T22:59:59Z', note: { a: 1 } },
    { ...base, status: 'paid', amount: null, paid: true, at: '2026-03-29T00:30:00Z' },
    { ...base, status: null, amount: 5, at: '2026-03-29T01:30:00Z' },
  ]);
});

const groups = async (search: string, table = orders) =>
  (await done(table.send('GET', `/_aggregate?${search}`))).data;

describe('aggregates', () => {
  test('count, sum, average and compare the values of each group, with every digit', async () => {
    expect(await groups('select=status,n:count(),total:amount.sum(),amount.max(),amount.count()')).toEqual([
      {
        status: 'open',
        n: 2,
        total: '18446744073709551614',
        amount_max: '9223372036854775807',
        amount_count: 2,
      },
      { status: 'paid', n: 2, total: 10, amount_max: 10, amount_count: 1 },
      { status: null, n: 1, total: 5, amount_max: 5, amount_count: 1 },
    ]);
    expect(
      await groups(
        'select=count(),p:pieces.sum(),w:weight.sum(),a:weight.avg(),first:at.min(),d:status.count_distinct(),f:status.min()',
      ),
    ).toEqual([
      { count: 5, p: 4294967297, w: 1.75, a: 0.875, first: '2026-01-31T22:59:59Z', d: 2, f: 'open' },
    ]);
    expect(await groups('select=n:count(),s:amount.sum(),a:amount.avg(),m:at.max()&pieces=99')).toEqual([
      { n: 0, s: null, a: null, m: null },
    ]);
    expect(await groups('select=status&pieces=99')).toEqual([]);
  });

  test('decimals stay exact, and enums group and compare as texts', async () => {
    const lines = await world.table(['price:decimal(12,2)', 'state:enum(open,paid)', 'no:autonumber']);
    await lines.batch([
      { price: '9999999999.99', state: 'open' },
      { price: '9999999999.99', state: 'open' },
      { price: '0.10', state: 'paid' },
    ]);
    const search =
      'select=state,total:price.sum(),least:price.min(),a:price.avg(),no.max()&having=total.gt.0.09';
    expect(await groups(search, lines)).toEqual([
      { state: 'open', total: '19999999999.98', least: '9999999999.99', a: 9999999999.99, no_max: 2 },
      { state: 'paid', total: '0.10', least: '0.10', a: 0.1, no_max: 3 },
    ]);
    expect(await groups('select=state.max(),no.sum()', lines)).toEqual([{ state_max: 'paid', no_sum: 6 }]);
  });

  test('filters stand before grouping, having and sort after it', async () => {
    expect(await groups('select=status,n:count()&amount=gte.5&having=n.gt.1&sort=-n')).toEqual([
      { status: 'open', n: 2 },
    ]);
    expect(await groups('select=status,n:count()&having=or(n.eq.1,status.eq.paid)&sort=n,-status')).toEqual([
      { status: null, n: 1 },
      { status: 'paid', n: 2 },
    ]);
    expect(await groups('select=status,s:amount.sum()&having=s.is.not_null,s.lt.11&_having=s.gt.5')).toEqual([
      { status: 'paid', s: 10 },
    ]);
  });

  test('a time is grouped by the start of its period in a time zone', async () => {
    expect(await groups('select=m:at.month(Europe/Berlin),n:count()')).toEqual([
      { m: '2026-01-01', n: 1 },
      { m: '2026-02-01', n: 2 },
      { m: '2026-03-01', n: 2 },
    ]);
    expect(await groups('select=m:at.month(),n:count()')).toEqual([
      { m: '2026-01-01', n: 3 },
      { m: '2026-03-01', n: 2 },
    ]);
    const periods = await groups(
      'select=at.year(),at.quarter(),at.week(Asia/Kolkata),at.day(Asia/Kolkata),at.hour(Asia/Kolkata)&status=is.null',
    );
    expect(periods).toEqual([
      {
        at_year: '2026-01-01',
        at_quarter: '2026-01-01',
        at_week: '2026-03-23',
        at_day: '2026-03-29',
        at_hour: '2026-03-29T01:30:00Z',
      },
    ]);
    expect(await groups('select=m:at.month(),n:count()&having=m.gte.2026-02-01')).toHaveLength(1);
  });

  test('have the pages of lists, of at most 1,000 groups', async () => {
    const table = await world.table(['n:int', 'name:text:nullable']);
    await table.batch(
      Array.from({ length: 1_205 }, (_, n) => ({ n, name: n % 3 === 0 ? null : `n${n % 7}` })),
    );
    const first = await done(table.send('GET', '/_aggregate?select=n,count()&sort=-n'));
    expect(first).toMatchObject({ page: 1, per_page: 1_000, has_more: true });
    expect(first.data).toHaveLength(1_000);
    const rest = await done(
      table.send('GET', `/_aggregate?select=n,count()&sort=-n&cursor=${first.next_cursor}`),
    );
    expect(rest.data.map(({ n }: { n: number }) => n)).toEqual(
      Array.from({ length: 205 }, (_, n) => 204 - n),
    );
    expect(rest).toMatchObject({ has_more: false, next_cursor: null });
    const walked: unknown[] = [];
    for (let cursor = ''; ; ) {
      const page = await done(
        table.send('GET', `/_aggregate?select=name,c:count()&sort=-c&per_page=3${cursor}`),
      );
      walked.push(...page.data);
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(walked).toEqual(await groups('select=name,c:count()&sort=-c', table));
    const second = await done(table.send('GET', '/_aggregate?select=n&per_page=100&page=13'));
    expect(second.data).toHaveLength(5);
    for (const search of ['select=n&per_page=1001', `select=name,n&cursor=${first.next_cursor}`])
      expect([search, (await table.send('GET', `/_aggregate?${search}`)).status]).toEqual([search, 400]);
  });

  test.each([
    ['', 'validation_failed'],
    ['select=', 'validation_failed'],
    ['select=nothing,count()', 'unknown_column'],
    ['select=nothing.sum()', 'unknown_column'],
    ['select=status.sum()', 'validation_failed'],
    ['select=paid.max()', 'validation_failed'],
    ['select=note', 'validation_failed'],
    ['select=sum()', 'validation_failed'],
    ['select=amount.median()', 'validation_failed'],
    ['select=amount.sum(1)', 'validation_failed'],
    ['select=status.month()', 'validation_failed'],
    ['select=at.month(Mars/Base)', 'validation_failed'],
    ["select=at.month(UTC');--)", 'validation_failed'],
    ['select=n:count(),n:amount.sum()', 'validation_failed'],
    ['select=count()&sort=amount', 'unknown_column'],
    ['select=count()&having=amount.gt.1', 'unknown_column'],
    ['select=count()&having=count', 'validation_failed'],
    ['select=count()&having=count.gt.x', 'validation_failed'],
    ['select=count()&cursor=x&page=1', 'validation_failed'],
    ['select=count()&cursor=abc', 'invalid_cursor'],
    ['select=count()&distinct.x=1', 'validation_failed'],
  ])('refuse %s with %s', async (search, code) => {
    const { status, body } = await orders.send('GET', `/_aggregate?${search}`);
    expect([status, body.code]).toEqual([400, code]);
  });

  test('see only the rows and columns of the caller', async () => {
    const { owner } = world;
    const ada = await world.visitor();
    const table = await world.table(['by:uuid', 'region:text', 'salary:int'], { owner_column: 'by' });
    const rules = { read: ['own'], insert: ['own'], columns: { salary: { read: ['role:hr'] } } };
    await done(table.shape('PUT', '/access', rules));
    await table.batch([
      { by: ada.id, region: 'eu', salary: 10 },
      { by: ada.id, region: 'us', salary: 20 },
      { by: owner.id, region: 'eu', salary: 30 },
    ]);
    const send = ada.of(table);
    const seen = await send('GET', '/_aggregate?select=region,n:count()');
    expect(seen.body.data).toEqual([
      { region: 'eu', n: 1 },
      { region: 'us', n: 1 },
    ]);
    const [hidden, unknown] = await Promise.all(
      ['salary', 'nothing'].map(async (name) => {
        const answers = await Promise.all(
          [
            `/_aggregate?select=${name}`,
            `/_aggregate?select=s:${name}.sum()`,
            `/_aggregate?select=count()&${name}=gt.1`,
            `/_aggregate?select=count()&sort=${name}`,
            `?distinct=${name}`,
          ].map((path) => send('GET', path)),
        );
        return answers.map(({ status, body }) => [status, JSON.stringify({ ...body, request_id: '' })]);
      }),
    );
    expect(hidden?.map(([status]) => status)).toEqual([400, 400, 400, 400, 400]);
    expect(JSON.parse(JSON.stringify(hidden).replaceAll('salary', 'nothing'))).toEqual(unknown);
    expect(await groups('select=region,s:salary.sum()', table)).toEqual([
      { region: 'eu', s: 40 },
      { region: 'us', s: 20 },
    ]);
    const outsider = await world.tenant.outsider.call('GET', `${table.path}/_aggregate?select=count()`);
    expect(outsider.status).toBe(404);
  });
});

describe('distinct', () => {
  test('lists the first row of each combination of values, in pages, counted and exported', async () => {
    const table = await world.table(['a:int', 'b:text:nullable', 'c:int']);
    await table.batch(
      Array.from({ length: 60 }, (_, c) => ({ a: c % 3, b: c % 4 === 0 ? null : `b${c % 2}`, c })),
    );
    expect(await table.list('?select=a&distinct=a&sort=a')).toEqual([{ a: 0 }, { a: 1 }, { a: 2 }]);
    expect(await table.list('?select=a,c&distinct=a&sort=-c')).toEqual([
      { a: 2, c: 59 },
      { a: 1, c: 58 },
      { a: 0, c: 57 },
    ]);
    expect(await table.list('?select=b&distinct=b&sort=b&a=0')).toEqual([
      { b: 'b0' },
      { b: 'b1' },
      { b: null },
    ]);
    const counted = await done(table.send('GET', '/_count?distinct=a,b'));
    expect(counted.count).toBe(9);
    const first = await done(table.send('GET', '?select=a,b&distinct=a,b&sort=-b,a&per_page=4'));
    const second = await done(
      table.send('GET', `?select=a,b&distinct=a,b&sort=-b,a&per_page=5&cursor=${first.next_cursor}`),
    );
    expect([...first.data, ...second.data]).toEqual(await table.list('?select=a,b&distinct=a,b&sort=-b,a'));
    const exported = await table.send('GET', '?select=a&distinct=a&sort=a', undefined, {
      accept: 'application/x-ndjson',
    });
    expect(exported.body).toBe('{"a":0}\n{"a":1}\n{"a":2}\n');
  });

  test('a column of the same name keeps its meaning; with an underscore it is the parameter', async () => {
    const table = await world.table(['distinct:text', 'having:int']);
    await table.batch([
      { distinct: 'x', having: 1 },
      { distinct: 'x', having: 2 },
      { distinct: 'y', having: 2 },
    ]);
    expect(await table.list('?distinct=x&select=having&sort=having')).toEqual([{ having: 1 }, { having: 2 }]);
    expect(await table.list('?_distinct=distinct&select=distinct&sort=distinct')).toEqual([
      { distinct: 'x' },
      { distinct: 'y' },
    ]);
    expect(await groups('select=distinct,n:count()&having=2', table)).toEqual([
      { distinct: 'x', n: 1 },
      { distinct: 'y', n: 1 },
    ]);
    expect(await groups('select=distinct,n:count()&_having=n.gt.1', table)).toEqual([
      { distinct: 'x', n: 2 },
    ]);
  });
});

describe('details of answers', () => {
  test('a value that looks like a misspelt operator stays a value, and Svc-Note names it', async () => {
    const table = await world.table(['region:text', 'host:text']);
    await table.insert({ region: 'eqq.EU', host: 'www.example.com' });
    for (const path of ['', '/_count', '/_aggregate']) {
      const select = path === '/_aggregate' ? '&select=count()' : '';
      const noted = await table.send('GET', `${path}?region=eqq.EU${select}`);
      expect([path, noted.status]).toEqual([path, 200]);
      expect(noted.headers.get('svc-note')).toBe(
        'region: "eqq." is not an operator, so the value was compared as it is; did you mean "eq."?',
      );
      const plain = await table.send('GET', `${path}?host=www.example.com&region=eq.eqq.EU${select}`);
      expect(plain.headers.get('svc-note')).toBeNull();
    }
    expect(await table.list('?region=eqq.EU')).toHaveLength(1);
    for (const [method, body] of [['PATCH', { host: 'b.example.com' }], ['DELETE']] as const)
      for (const search of ['?region=eqq.EU&dry_run=true', '?region=eqq.EU', '?host=www.example.com']) {
        const changed = await table.send(method, search, body);
        expect([search, changed.status, changed.headers.has('svc-note')]).toEqual([
          search,
          200,
          search.startsWith('?region'),
        ]);
      }
  });

  test('Accept: text/csv gives pages, groups and exports as CSV', async () => {
    const table = await world.table(['name:text:nullable', 'at:timestamptz', 'paid:bool', 'data:jsonb']);
    await table.batch([
      { name: 'a,"b"', at: '2026-01-02T03:04:05.6Z', paid: true, data: { a: [1] } },
      { name: null, at: '2026-01-02T03:04:05Z', paid: false, data: 'x' },
      { name: '', at: '2026-01-02T03:04:05Z', paid: false, data: 1 },
    ]);
    const csv = { accept: 'text/csv' };
    const all = await table.send('GET', '?select=name,at,paid,data&sort=at,name', undefined, csv);
    expect(all.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    const rows = [
      'name,at,paid,data',
      '"",2026-01-02T03:04:05Z,false,1',
      ',2026-01-02T03:04:05Z,false,"""x"""',
      '"a,""b""",2026-01-02T03:04:05.6Z,true,"{""a"": [1]}"',
      '',
    ];
    expect(all.body).toBe(rows.join('\r\n'));
    const first = await table.send('GET', '?select=name&sort=at,name&per_page=2', undefined, csv);
    expect(first.body).toBe('name\r\n""\r\n\r\n');
    const [, next] = /^<(.+)>; rel="next"$/.exec(first.headers.get('link') ?? '') ?? [];
    const second = await world.owner.call('GET', next ?? '', undefined, csv);
    expect(second.body).toBe('name\r\n"a,""b"""\r\n');
    expect(second.headers.get('link')).toBeNull();
    const grouped = await table.send('GET', '/_aggregate?select=paid,n:count()', undefined, csv);
    expect(grouped.body).toBe('paid,n\r\nfalse,2\r\ntrue,1\r\n');
    const none = await table.send('GET', '?select=name&name=nobody', undefined, csv);
    expect(none.body).toBe('name\r\n');
  });

  test('Preference-Applied says that a preference of a change was followed', async () => {
    const table = await world.table(['id:int', 'a:int']);
    const minimal = { prefer: 'return=minimal' };
    const applied = async (method: string, path: string, body?: object, headers = minimal) => {
      const answer = await table.send(method, path, body, headers);
      return [answer.status, answer.headers.get('preference-applied'), answer.body];
    };
    expect(await applied('POST', '', { id: 1, a: 1 })).toEqual([201, 'return=minimal', '']);
    expect(await applied('PATCH', '/1', { a: 2 })).toEqual([204, 'return=minimal', '']);
    expect(await applied('POST', '', { id: 1, a: 3 })).toEqual([409, null, expect.anything()]);
    const merge = { prefer: 'return=minimal, resolution=merge-duplicates' };
    expect(await applied('POST', '', { id: 1, a: 3 }, merge)).toEqual([
      204,
      'return=minimal, resolution=merge-duplicates',
      '',
    ]);
    expect((await applied('PATCH', '/1', { a: 4 }, { prefer: 'return=representation' }))[1]).toBeNull();
    expect(await applied('DELETE', '/1')).toEqual([204, 'return=minimal', '']);
  });
});
