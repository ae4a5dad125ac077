import { describe, expect, test } from 'bun:test';
import { patientMs } from '../scripts/patience.ts';
import { useFixture } from '../scripts/use-fixture.ts';
import { rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);

const found = async (table: TestTable, search: string) =>
  (await table.list(`?select=x&sort=x&per_page=200&${search}`)).map(({ x }) => x);
const enc = encodeURIComponent;

async function refused(table: TestTable, code: string, searches: readonly string[]): Promise<void> {
  for (const search of searches) {
    for (const path of ['', '/_count']) {
      const answer = await table.send('GET', `${path}?${search}`);
      expect([search, answer.status, answer.body.code]).toEqual([search, 400, code]);
    }
  }
}

describe('operators', () => {
  test('each operator works on numbers', async () => {
    const table = await world.table(['x:int:nullable']);
    await table.batch([1, 2, 3, null].map((x) => ({ x })));
    const expected: Record<string, unknown[]> = {
      'x=2': [2],
      'x=eq.2': [2],
      'filter=x=2': [2],
      'filter=x%3Deq.2': [2],
      'x=neq.2': [1, 3],
      'x=not.eq.2': [1, 3],
      'x=gt.2': [3],
      'x=gte.2': [2, 3],
      'x=lt.2': [1],
      'x=lte.2': [1, 2],
      'x=in.(1,3)': [1, 3],
      'x=in.()': [],
      'x=not.in.(1,3)': [2],
      'x=not.in.()': [1, 2, 3, null],
      'x=between.(2,3)': [2, 3],
      'x=between.(3,2)': [],
      'x=not.between.(2,3)': [1],
      'x=is.null': [null],
      'x=is.not_null': [1, 2, 3],
      'x=gt.1&x=lt.3': [2],
      'x=gt.1&filter=x=lt.3': [2],
      'or=(x.eq.1,x.is.null)': [1, null],
      'or=(x.eq.1,and(x.gt.1,x.lt.3))': [1, 2],
      'and=(x.gt.1,not.or(x.eq.3))': [2],
      'not=(x.eq.1,x.eq.2)': [1, 2, 3],
      'not.or=(x.eq.1,x.eq.2)': [3],
      'or=(x.in.(1,2),x.eq.3)&x=neq.2': [1, 3],
    };
    for (const [search, rows] of Object.entries(expected)) {
      expect([search, await found(table, search)]).toEqual([search, rows]);
      const count = (await table.send('GET', `/_count?${search}`)).body;
      expect([search, count]).toEqual([search, { count: rows.length }]);
    }
  });

  test('patterns: % and * are any run, _ is one, \\ escapes; the literal ones know none of these', async () => {
    const table = await world.table(['x:text']);
    const texts = ['100%', '100', 'a_b', 'aXb', 'a*b', 'A_B', 'back\\slash', 'straße', 'STRASSE', ''];
    await table.batch(texts.map((x) => ({ x })));
    const expected: Record<string, string[]> = {
      [`x=like.${enc('100%')}`]: ['100', '100%'],
      'x=like.100*': ['100', '100%'],
      [`x=like.${enc('100\\%')}`]: ['100%'],
      'x=like.a_b': ['a*b', 'aXb', 'a_b'],
      [`x=like.${enc('a\\_b')}`]: ['a_b'],
      [`x=like.${enc('a\\*b')}`]: ['a*b'],
      [`x=like.${enc('*\\\\*')}`]: ['back\\slash'],
      [`x=ilike.${enc('a\\_b')}`]: ['A_B', 'a_b'],
      'x=like.': [''],
      'x=like.*': [...texts].sort(),
      'x=sw.a_': ['a_b'],
      [`x=sw.${enc('100%')}`]: ['100%'],
      'x=isw.A_': ['A_B', 'a_b'],
      'x=ew.*b': ['a*b'],
      'x=iew._b': ['A_B', 'a_b'],
      'x=has.*': ['a*b'],
      [`x=has.${enc('\\')}`]: ['back\\slash'],
      [`x=ihas.${enc('\\SL')}`]: ['back\\slash'],
      'x=isw.stra': ['STRASSE', 'straße'],
      [`x=iew.${enc('SSE')}`]: ['STRASSE'],
      'x=not.has.a': ['', '100', '100%', 'A_B', 'STRASSE'],
    };
    for (const [search, rows] of Object.entries(expected))
      expect([search, await found(table, search)]).toEqual([search, rows]);
    await refused(table, 'validation_failed', [`x=like.${enc('a\\')}`, `x=ilike.${enc('\\')}`]);
  });

  test('values with commas, quotes, brackets, backslashes and dots match exactly', async () => {
    const table = await world.table(['x:text']);
    const texts = [
      'a,b',
      'a"b',
      '(a)',
      'a)',
      'a\\b',
      'a\\"b',
      'in.example.com',
      'eq.1',
      'not.eq.1',
      'a=b&c',
      '$1',
    ];
    texts.push('', 'null', "o'clock", 'x.is.null', '{"a","b"}', '{}', 'NULL', '%');
    await table.batch(texts.map((x) => ({ x })));
    const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;
    for (const text of texts) {
      expect(await found(table, `x=eq.${enc(text)}`)).toEqual([text]);
      expect(await found(table, `filter=${enc(`x=eq.${text}`)}`)).toEqual([text]);
      expect(await found(table, `x=in.${enc(`(${quoted(text)})`)}`)).toEqual([text]);
      expect(await found(table, `or=${enc(`(x.eq.${quoted(text)},id.is.null)`)}`)).toEqual([text]);
    }
    expect(await found(table, `x=in.${enc(`(${texts.map(quoted).join(',')})`)}`)).toEqual([...texts].sort());
    // Nothing before the dot is an operator here, so it is a literal; with eq. any text is.
    expect(await found(table, 'x=')).toEqual(['']);
    await refused(table, 'validation_failed', ['x=in.example.com', 'x=not.not.eq.1', 'x=in.(a', 'x=in.(a)b']);
    await refused(table, 'validation_failed', [
      'x=between.(a)',
      'x=is.maybe',
      'x=is.',
      'or=(x.eq.a',
      'or=()',
      'or=x',
    ]);
  });
});

describe('names', () => {
  test('columns whose names begin like a keyword are filtered, selected and sorted like others', async () => {
    const names = [
      'orange',
      'organism',
      'order',
      'andes',
      'nothing',
      'notes',
      'selected',
      'filters',
      'sorted',
    ];
    names.push(
      'pages',
      'in',
      'eq',
      'is',
      'user',
      'group',
      'table',
      'xmin',
      'ctid',
      'tableoid',
      'v',
      'c1',
      't',
    );
    names.push('constructor', 'prototype', 'valueof', 'tostring', 'x'.repeat(63));
    const table = await world.table(names.map((name) => `${name}:int:nullable`));
    const row = Object.fromEntries(names.map((name, at) => [name, at]));
    await table.insert(row, {});
    for (const [at, name] of names.entries()) {
      for (const search of [
        `${name}=${at}`,
        `${name}=eq.${at}`,
        `filter=${name}=${at}`,
        `or=(${name}.eq.${at})`,
      ]) {
        const rows = await table.list(`?select=${name},as:${name}&sort=-${name}&${search}`);
        expect([search, rows]).toEqual([search, [{ [name]: at, as: at }]]);
      }
    }
    expect((await table.list('?sort=id'))[0]).toMatchObject(row);
  });

  test('an unknown column is refused everywhere, never ignored', async () => {
    const table = await world.table(['x:int']);
    await refused(table, 'unknown_column', [
      'nope=1',
      'filter=nope=1',
      'select=nope',
      'sort=nope',
      'or=(nope.eq.1)',
    ]);
    await refused(table, 'unknown_column', [
      'filter=__proto__=1',
      'select=__proto__',
      'constructor=1',
      'xmin=1',
    ]);
    await refused(table, 'unknown_column', [
      `filter=${enc('a.b')}=1`,
      `sort=${enc('x,y')}`,
      `select=${enc('x"')}`,
    ]);
    await refused(table, 'unknown_column', [
      'select=x-%3Ea',
      'sort=x%20desc',
      'select=x::text',
      'select=count()',
    ]);
    await refused(table, 'unknown_parameter', [
      'X=1',
      '_x=1',
      '__proto__=1',
      'x%20=1',
      '%F0%9F%98%80=1',
      'x->a=1',
    ]);
    await refused(table, 'unknown_parameter', ['limit%20=1', 'x.y=1', '=1']);
    expect((await table.send('GET', '?limit=10')).body.code).toBe('unknown_column');
    expect((await table.send('GET', `/${Bun.randomUUIDv7()}?x=1`)).body.code).toBe('unknown_parameter');
    expect((await table.send('POST', '?x=1', { x: 1 })).body.code).toBe('unknown_parameter');
  });

  test('keys of a body are column names, and __proto__ is none', async () => {
    const table = await world.table(['x:int', 'constructor:int:nullable']);
    for (const key of [
      '__proto__',
      'X',
      'x ',
      'toString',
      'a.b',
      'a->b',
      '😀',
      '',
      'v',
      'xmin',
      'y'.repeat(64),
    ]) {
      const answer = await table.send('POST', '', `{"x":1,${JSON.stringify(key)}:{"x":2}}`);
      expect([key, answer.status, answer.body.code]).toEqual([key, 400, 'unknown_column']);
    }
    expect((await table.send('POST', '', '{"x":1,"constructor":2}')).body).toMatchObject({ constructor: 2 });
  });
});

describe('limits', () => {
  test('50 conditions, depth 8 and a list of a thousand are the limits', async () => {
    const table = await world.table(['x:int']);
    await table.insert({ x: 1 });
    const conditions = (count: number) => Array.from({ length: count }, () => 'x=1').join('&');
    expect(await found(table, conditions(50))).toEqual([1]);
    await refused(table, 'validation_failed', [conditions(51)]);
    const nested = (depth: number) => `or=${'(and'.repeat(depth - 1)}(x.eq.1)${')'.repeat(depth - 1)}`;
    expect(await found(table, nested(8))).toEqual([1]);
    await refused(table, 'validation_failed', [nested(9), nested(1_000)]);
    const list = (count: number) => `x=in.(${Array.from({ length: count }, () => '1').join(',')})`;
    expect(await found(table, list(1_000))).toEqual([1]);
    await refused(table, 'validation_failed', [list(1_001)]);
  });

  test('a filter of many kilobytes works, and a slow pattern ends in time', async () => {
    const table = await world.table(['x:text']);
    await table.insert({ x: 'a'.repeat(20_000) });
    expect(await found(table, `x=neq.${'b'.repeat(7_000)}`)).toHaveLength(1);
    const begun = performance.now();
    const slow = await table.send('GET', `?x=like.${'*a'.repeat(1_500)}*b`);
    expect([200, 504]).toContain(slow.status);
    if (slow.status === 504) expect(slow.body.code).toBe('query_timeout');
    expect(performance.now() - begun).toBeLessThan(patientMs(7_000));
    expect(await found(table, 'x=sw.a')).toHaveLength(1);
  });
});

describe('wide tables', () => {
  test('a table of a thousand columns is written and read whole, one by one and in a batch', async () => {
    const names = Array.from({ length: 1_000 }, (_, at) => `c${at}`);
    const table = await world.table(names.map((name) => `${name}:int:nullable`));
    const row = Object.fromEntries(names.map((name, at) => [name, at]));
    const [created] = await table.insert(row);
    expect(created).toMatchObject(row);
    await table.batch([row, row]);
    expect(await table.list(`?select=${names.slice(0, 500).join(',')}&per_page=1`)).toHaveLength(1);
    expect((await table.list()).map(({ c999 }) => c999)).toEqual([999, 999, 999]);
    expect((await table.send('PATCH', `/${created.id}`, row)).status).toBe(200);
  });

  test('a row wider than a database page is refused without a 5xx status', async () => {
    const names = Array.from({ length: 900 }, (_, at) => `c${at}`);
    const table = await world.table(names.map((name) => `${name}:text:nullable`));
    const row = Object.fromEntries(names.map((name) => [name, 'x'.repeat(30)]));
    const single = await table.send('POST', '', row);
    expect([single.status, single.body.code]).toEqual([400, 'validation_failed']);
    const batch = await table.send('POST', '', `{}\n${JSON.stringify(row)}`, {
      'content-type': 'application/jsonl',
    });
    // PostgreSQL writes such rows in batches and does not report which one failed.
    expect([batch.status, batch.body.errors]).toMatchObject([400, [{ code: 'invalid_value' }]]);
    expect((await table.send('GET', '/_count')).body.count).toBe(0);
  });
});
