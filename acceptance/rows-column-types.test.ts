import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { expectFilterRejected, expectRejected, expectRoundTrip } from './suites/row-values.ts';
import { ndjson, rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);

const ofType = (type: string) => world.table([`x:${type}`]);
const found = async (table: TestTable, search: string) =>
  (await table.list(`?select=x&sort=x&${search}`)).map(({ x }) => x);
const addColumn = async (table: TestTable, column: unknown) =>
  (await table.shape('POST', '/columns', JSON.stringify(column))).status;
const columnOf = async (table: TestTable, name = 'x') =>
  (await table.shape('GET', '')).body.columns.find((column: { name: string }) => column.name === name);

describe('decimal', () => {
  test('is a text with every digit; numbers are read too; nothing is rounded', async () => {
    const table = await ofType('decimal(12,2)');
    await expectRoundTrip(table, {
      '"1.5"': '"1.50"',
      '1.5': '"1.50"',
      '0': '"0.00"',
      '"-0"': '"0.00"',
      '"-0.01"': '"-0.01"',
      '"1.500000"': '"1.50"',
      '9999999999.99': '"9999999999.99"',
      '"-9999999999.99"': '"-9999999999.99"',
    });
    const wrong = ['"1.505"', '1.001', '10000000000', '"1e3"', '1e3', '"01"', '"+1"', '".5"', '"1."', '""'];
    await expectRejected(table, [...wrong, '"NaN"', 'true', '[1]', '" 1"']);
    await expectFilterRejected(table, ['1.505', '1e3', '', 'NaN', '10000000000']);
    await expectRejected(await ofType('decimal(3,3)'), ['1', '"1.000"', '"-1"']);
    await expectRoundTrip(await ofType('decimal(3,3)'), { '"0.999"': '"0.999"', '-0.5': '"-0.500"' });
    const long = '123456789012345678901234567890.1234567890';
    await expectRoundTrip(await ofType('decimal(100,10)'), {
      [long]: `"${long}"`,
      [`"${long}"`]: `"${long}"`,
    });
  });

  test('filters, sorts and cursors compare numbers', async () => {
    const table = await ofType('decimal(12,2)');
    await table.batch([{ x: '9.5' }, { x: '10' }, { x: '-1.01' }, { x: '100.00' }]);
    expect(await found(table, '')).toEqual(['-1.01', '9.50', '10.00', '100.00']);
    expect(await found(table, 'x=10')).toEqual(['10.00']);
    expect(await found(table, 'x=between.(9.5,10.0)')).toEqual(['9.50', '10.00']);
    expect(await found(table, 'x=in.(9.50,100)')).toEqual(['9.50', '100.00']);
    const first = (await table.send('GET', '?sort=-x&per_page=2')).body;
    const second = (await table.send('GET', `?sort=-x&per_page=2&cursor=${first.next_cursor}`)).body;
    expect([...first.data, ...second.data].map(({ x }) => x)).toEqual(['100.00', '10.00', '9.50', '-1.01']);
  });
});

describe('enum', () => {
  test('has its values and no other; values can be added, and removed where no row has them', async () => {
    const table = await world.table(['x:enum(open,in work,paid):open']);
    await expectRoundTrip(table, { '"open"': '"open"', '"in work"': '"in work"' });
    await expectRejected(table, ['"Open"', '""', '"lost"', '1', 'null'].slice(0, 4));
    await expectFilterRejected(table, ['lost', '']);
    expect((await table.send('GET', '?x=like.o*')).status).toBe(400);
    const update = (type: string) => table.shape('PATCH', '/columns/x', { type });
    expect((await update('enum(open,in work,paid,lost)')).status).toBe(200);
    await table.insert({ x: 'lost' });
    const used = await update('enum(open,paid)');
    expect([used.status, used.body.code]).toEqual([409, 'check_violation']);
    expect(used.body.detail).toMatch(/^\d+ rows have values of x /);
    expect((await update('enum(open,in work,lost)')).status).toBe(200);
    await expectRejected(table, ['"paid"']);
    const ofDefault = await update('enum(in work,lost)');
    expect([ofDefault.status, ofDefault.body.errors[0].field]).toEqual([400, 'default']);
  });

  test('sorts as text, not in the order of its declaration: in lists, pages and groups', async () => {
    const table = await world.table(['x:enum(open,in work,Paid,lost)']);
    await table.batch(['open', 'in work', 'Paid', 'lost'].map((x) => ({ x })));
    const byText = ['Paid', 'in work', 'lost', 'open'];
    const values = (rows: readonly { x: string }[]) => rows.map(({ x }) => x);
    expect(values(await table.list('?sort=x'))).toEqual(byText);
    expect(values(await table.list('?sort=-x'))).toEqual(byText.toReversed());
    expect((await table.send('GET', '?x=gt.open')).status).toBe(400);
    const first = (await table.send('GET', '?sort=x&per_page=3')).body;
    expect(values(await table.list(`?sort=x&per_page=3&cursor=${first.next_cursor}`))).toEqual(['open']);
    const groups = (await table.send('GET', '/_aggregate?select=x,n:count()&sort=x')).body;
    expect(values(groups.data)).toEqual(byText);
    const ends = (await table.send('GET', '/_aggregate?select=a:x.min(),b:x.max()')).body;
    expect(ends.data).toEqual([{ a: 'Paid', b: 'open' }]);
  });
});

describe('lists', () => {
  test('come back as they were sent, item by item', async () => {
    const texts = ['', ' ', '"', '\\', 'NULL', 'null', '{}', 'a,b', "'", 'ä', '😀', '(', '\\"'];
    await expectRoundTrip(await ofType('text[]'), {
      '[]': '[]',
      '["a"]': '["a"]',
      ' [ "a" , "b" ] ': '["a","b"]',
      [JSON.stringify(texts)]: JSON.stringify(texts),
      '["\\n\\t"]': '["\\u000a\\u0009"]',
    });
    await expectRejected(await ofType('text[]'), [
      '"a"',
      '{}',
      '[1]',
      '[null]',
      '[["a"]]',
      '["\\u0000"]',
      '"[]"',
    ]);
    await expectRoundTrip(await ofType('int[]'), { '[]': '[]', '[ 1, -2147483648 ]': '[1,-2147483648]' });
    await expectRejected(await ofType('int[]'), [
      '[1.0]',
      '["1"]',
      '[2147483648]',
      '[null]',
      '[1,]',
      '[[1]]',
      '1',
    ]);
  });

  test('cs finds all items, ov one of them, as (a,b) and as JSON, with an index', async () => {
    const table = await ofType('text[]');
    await table.batch([{ x: ['a', 'b'] }, { x: ['b', 'c,d'] }, { x: [] }]);
    expect((await table.shape('POST', '/indexes', { columns: ['x'] })).status).toBe(201);
    expect((await table.shape('POST', '/indexes', { columns: ['x'], unique: true })).status).toBe(400);
    expect(await found(table, 'x=cs.(b)')).toEqual([
      ['a', 'b'],
      ['b', 'c,d'],
    ]);
    expect(await found(table, 'x=cs.["b","c,d"]')).toEqual([['b', 'c,d']]);
    expect(await found(table, 'x=ov.(a,"c,d")')).toHaveLength(2);
    expect(await found(table, 'x=ov.(z)')).toEqual([]);
    expect(await found(table, 'x=cd.(a,b,z)')).toEqual([[], ['a', 'b']]);
    expect(await found(table, 'x=()')).toEqual([[]]);
    expect(await found(table, 'or=(x.cs.(a),x.eq.())')).toEqual([[], ['a', 'b']]);
    for (const wrong of ['x=cs.a', 'x=like.a', 'x=gt.(a)', 'x=in.(a)'])
      expect([wrong, (await table.send('GET', `?${wrong}`)).status]).toEqual([wrong, 400]);
    const numbers = await ofType('int[]');
    await numbers.batch([{ x: [1, 2] }, { x: [3] }]);
    expect(await found(numbers, 'x=ov.(2,9)')).toEqual([[1, 2]]);
    expect((await numbers.send('GET', '?x=ov.(a)')).status).toBe(400);
  });

  test('in a text column a value that begins with ov. is a literal as before', async () => {
    const table = await ofType('text');
    await table.insert({ x: 'ov.example.com' }, { x: 'not.ov.x' });
    expect(await found(table, 'x=ov.example.com')).toEqual(['ov.example.com']);
    expect(await found(table, 'x=not.ov.x')).toEqual(['not.ov.x']);
    expect((await table.send('GET', '?or=(x.ov.a)')).status).toBe(400);
  });

  test('are merged by an upsert and have defaults', async () => {
    const table = await world.table(['k:text', 'x:text[]:["new"]', 'n:int[]:nullable']);
    await table.shape('POST', '/indexes', { columns: ['k'], unique: true });
    await table.insert({ k: 'a' });
    const merge = { ...ndjson, prefer: 'resolution=merge-duplicates' };
    const body = '{"k":"a","x":["1","2,3"],"n":[1]}\n{"k":"b","x":[],"n":null}\n';
    const merged = await table.send('POST', '?on_conflict=k', body, merge);
    expect([merged.status, merged.body.inserted, merged.body.updated]).toEqual([201, 1, 1]);
    expect(await table.list('?select=k,x,n&sort=k')).toEqual([
      { k: 'a', x: ['1', '2,3'], n: [1] },
      { k: 'b', x: [], n: null },
    ]);
    expect((await columnOf(table)).default).toBe('["new"]');
    const added = await table.shape('POST', '/columns', { name: 'y', type: 'text[]', default: '["a","b"]' });
    expect(added.status).toBe(201);
    expect((await table.list('?select=y&per_page=1'))[0]).toEqual({ y: ['a', 'b'] });
  });
});

describe('autonumber', () => {
  test('is assigned by the server, increases, and cannot be written', async () => {
    const table = await world.table(['no:autonumber', 'k:text']);
    await table.shape('POST', '/indexes', { columns: ['k'], unique: true });
    const [one, two] = await table.insert({ k: 'a' }, { k: 'b' });
    expect([one.no, two.no]).toEqual([1, 2]);
    const { ids } = (await table.batch([{ k: 'c' }, { k: 'd' }])).body;
    expect((await table.send('GET', `/${ids[1]}?select=no`)).body).toEqual({ no: 4 });
    for (const answer of [
      await table.send('POST', '', { k: 'x', no: 9 }),
      await table.send('PATCH', `/${one.id}`, { no: 9 }),
      await table.send('POST', '', '{"k":"x","no":9}\n', ndjson),
    ])
      expect([answer.status, answer.body.errors[0]]).toMatchObject([
        400,
        { column: 'no', code: 'read_only' },
      ]);
    const merge = { ...ndjson, prefer: 'resolution=merge-duplicates' };
    await table.send('POST', '?on_conflict=k', '{"k":"a"}\n{"k":"e"}\n', merge);
    const numbers = (await table.list('?select=k,no&sort=no')).map(({ no }) => no);
    expect(numbers.slice(0, 4)).toEqual([1, 2, 3, 4]);
    expect(numbers[4]).toBeGreaterThan(4);
    const preview = await table.send('POST', '?dry_run=true', { k: 'p' });
    expect(preview.body.plan.changes).toContainEqual(
      expect.objectContaining({ path: 'no', after: expect.any(String) }),
    );
    expect((await columnOf(table, 'no')).generated).toBe(true);
    for (const column of ['n:autonumber:nullable', 'n:autonumber:5', 'n:autonumber(min=1)'])
      expect([column, await addColumn(table, column)]).toEqual([column, 400]);
    // A table that is copied for another type goes on where it was.
    expect(await addColumn(table, 'i:int:nullable')).toBe(201);
    expect((await table.shape('PATCH', '/columns/i', { type: 'bigint' })).status).toBe(200);
    const [later] = await table.insert({ k: 'later' });
    expect(later.no).toBeGreaterThan(numbers[4]);
  });
});

describe('checks', () => {
  const broken = (check: string) => ({
    column: 'x',
    code: 'check_violation',
    detail: expect.stringContaining(check),
  });
  const cases: [string, string[], [value: string, check: string][]][] = [
    [
      'int(min=0,max=150)',
      ['0', '150'],
      [
        ['-1', 'min'],
        ['151', 'max'],
      ],
    ],
    ['bigint(min=9007199254740993)', ['9007199254740993'], [['9007199254740992', 'min']]],
    [
      'decimal(5,2,min=-1.5,max=99.99)',
      ['"-1.50"', '99.99'],
      [
        ['-1.51', 'min'],
        ['100', 'max'],
      ],
    ],
    ['float(min=0.5)', ['0.5', '1e300'], [['0.4999', 'min']]],
    ['date(max=2026-01-31)', ['"2026-01-31"'], [['"2026-02-01"', 'max']]],
    [
      'timestamptz(min=2026-01-01T00:00:00Z)',
      ['"2026-01-01T01:00:00+01:00"', '"2026-01-01T00:00:00.000001Z"'],
      [['"2026-01-01T00:59:59.999999+01:00"', 'min']],
    ],
    [
      'text(min_length=2,max_length=3)',
      ['"ab"', '"😀😀😀"'],
      [
        ['"a"', 'min_length'],
        ['"abcd"', 'max_length'],
      ],
    ],
    [
      'text[](min_length=1,max_length=2)',
      ['["a,b"]'],
      [
        ['[]', 'min_length'],
        ['["a","b","c"]', 'max_length'],
      ],
    ],
    [
      'text(pattern="^[a-z]{2}(-[A-Z]{2})?$")',
      ['"de"', '"de-AT"'],
      [
        ['"DE"', 'pattern'],
        ['"de\\n"', 'pattern'],
      ],
    ],
  ];
  test.each(cases)('%s', async (type, good, bad) => {
    const table = await ofType(type);
    for (const value of good) await table.insert(`{"x":${value}}`);
    const [row] = await table.list('?per_page=1');
    for (const [value, check] of bad) {
      const body = `{"x":${value}}`;
      for (const answer of [
        await table.send('POST', '', body),
        await table.send('PATCH', `/${row.id}`, body),
        await table.send('POST', '', `${body}\n`, ndjson),
      ]) {
        expect([value, answer.status, answer.body.code]).toEqual([value, 400, 'validation_failed']);
        expect(answer.body.errors).toMatchObject([broken(check)]);
      }
    }
    expect((await table.send('GET', '/_count')).body.count).toBe(good.length);
  });

  test('a default that breaks its check is refused, and so are checks that do not fit', async () => {
    const table = await world.table(['n:int']);
    const wrong: unknown[] = [
      'x:int(min=5):4',
      { name: 'x', type: 'text', default: '', checks: { min_length: 1 } },
      'x:text(min=1)',
      'x:int(max_length=1)',
      'x:int(min=2,max=1)',
      'x:bool(min=1)',
      'x:text(pattern="(a)\\\\1")',
      'x:text(pattern="(?=a)")',
      { name: 'x', type: 'text', checks: { pattern: '[' } },
      'x:decimal',
      'x:decimal(2,3)',
      'x:decimal(101,0)',
      'x:enum()',
      'x:enum(a,a)',
      'x:enum(a,)',
    ];
    for (const column of wrong) expect([column, await addColumn(table, column)]).toEqual([column, 400]);
    expect(await addColumn(table, 'x:int(min=5):5')).toBe(201);
    const lowered = await table.shape('PATCH', '/columns/x', { default: 4 });
    expect([lowered.status, lowered.body.errors[0].field]).toEqual([400, 'default']);
    expect((await table.shape('PATCH', '/columns/x', { checks: { min: 6 } })).status).toBe(400);
  });

  test('new checks must hold for the rows, of which those that break them are counted', async () => {
    const table = await ofType('int');
    await table.batch([{ x: 1 }, { x: 2 }, { x: 3 }]);
    const refusal = await table.shape('PATCH', '/columns/x', { checks: { min: 3 } });
    expect([refusal.status, refusal.body.code]).toEqual([409, 'check_violation']);
    expect(refusal.body.detail).toStartWith('2 rows have values of x ');
    expect((await columnOf(table)).checks).toBeUndefined();
    expect((await table.send('POST', '', { x: 0 })).status).toBe(201);
    expect((await table.shape('PATCH', '/columns/x', { checks: { min: 0, max: '9' } })).status).toBe(200);
    expect((await columnOf(table)).checks).toEqual({ min: '0', max: '9' });
    await expectRejected(table, ['-1', '10'], 'check_violation');
    expect((await table.shape('PATCH', '/columns/x', { checks: { max: null } })).status).toBe(200);
    await table.insert({ x: 10 });
    const plan = await table.shape('PATCH', '/columns/x?dry_run=true', { checks: { max: 20 } });
    expect(plan.body.plan.changes[0]).toMatchObject({
      path: 'type',
      before: 'int(min=0)',
      after: 'int(min=0,max=20)',
    });
  });
});

describe('a change of type', () => {
  test('keeps every value where none can be lost', async () => {
    const steps: [from: string, to: string, sent: string, after: string][] = [
      ['int', 'bigint', '7', '7'],
      ['int', 'decimal(12,2)', '2147483647', '"2147483647.00"'],
      ['int', 'float', '-1', '-1'],
      ['bigint', 'decimal(19,0)', '"9223372036854775807"', '"9223372036854775807"'],
      ['decimal(5,2)', 'decimal(8,3)', '"1.25"', '"1.250"'],
      ['decimal(9,0)', 'int', '"999999999"', '999999999'],
      ['decimal(5,2)', 'text', '"1.50"', '"1.50"'],
      ['bool', 'text', 'true', '"true"'],
      ['date', 'text', '"2026-01-31"', '"2026-01-31"'],
      ['enum(a,b)', 'text', '"a"', '"a"'],
      ['text', 'enum(a,b)', '"b"', '"b"'],
      ['int[]', 'text[]', '[1,2]', '["1","2"]'],
    ];
    for (const [from, to, sent, after] of steps) {
      const table = await world.table([`x:${from}:nullable`]);
      const [row] = await table.insert(`{"x":${sent}}`, '{"x":null}');
      const etag = (await table.send('GET', `/${row.id}`)).headers.get('etag');
      const changed = await table.shape('PATCH', '/columns/x', { type: to });
      expect([from, to, changed.status]).toEqual([from, to, 200]);
      const read = await table.send('GET', `/${row.id}?select=x`);
      expect([from, to, read.text]).toEqual([from, to, `{"x":${after}}`]);
      expect([etag === null, (await columnOf(table)).type]).toEqual([false, to]);
      expect((await table.send('GET', '/_count?x=is.null')).body.count).toBe(1);
      await table.insert(`{"x":${after}}`);
    }
  });

  test('is refused with the reason where values could be lost, and keeps indexes, defaults and rules', async () => {
    const table = await world.table(['x:int:5', 's:text:nullable', 'o:text:nullable'], { owner_column: 'o' });
    const change = async (column: string, type: string) => {
      const { status, body } = await table.shape('PATCH', `/columns/${column}`, { type });
      return [status, body.code ?? body.columns.find(({ name }: { name: string }) => name === column).type];
    };
    for (const type of ['decimal(9,0)', 'bool', 'date', 'uuid', 'jsonb', 'text[]', 'autonumber', 'enum(5)'])
      expect([type, ...(await change('x', type))]).toEqual([type, 409, 'type_change_refused']);
    expect(await change('o', 'enum(a)')).toEqual([409, 'immutable_field']);
    expect(await change('id', 'text')).toEqual([409, 'immutable_field']);
    expect(await change('x', 'number')).toEqual([400, 'validation_failed']);
    await table.shape('POST', '/indexes', { columns: ['x'], unique: true });
    await table.insert({});
    expect(await change('x', 'decimal(12,1)')).toEqual([200, 'decimal(12,1)']);
    expect((await columnOf(table)).default).toBe('5.0');
    expect((await table.send('POST', '', {})).body.code).toBe('unique_violation');
    await table.shape('PUT', '/access', { read: ['x=gt.4'] });
    expect(await change('x', 'decimal(14,2)')).toEqual([200, 'decimal(14,2)']);
    expect(await change('x', 'text')).toEqual([409, 'column_in_use']);
    const cursor = (await table.send('GET', '?sort=x&per_page=1')).body.next_cursor;
    expect(cursor).toBeNull();
  });
});
