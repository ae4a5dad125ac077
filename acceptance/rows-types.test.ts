import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { expectFilterRejected, expectRejected, expectRoundTrip } from './suites/row-values.ts';
import { lineOf } from './support/citus.ts';
import { ndjson, rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);

const ofType = (type: string) => world.table([`x:${type}`]);
const found = async (table: TestTable, search: string) =>
  (await table.list(`?select=x&sort=x&${search}`)).map(({ x }) => x);

describe('null', () => {
  test('an explicit null is stored as null, and a missing key gets the default', async () => {
    const table = await world.table(['a:int:nullable:7', 'b:int:5', 'c:int:nullable']);
    const [missing, explicit] = await table.insert({}, { a: null, c: null });
    expect([missing.a, missing.b, missing.c]).toEqual([7, 5, null]);
    expect([explicit.a, explicit.b, explicit.c]).toEqual([null, 5, null]);
    const batch = await table.batch([{}, { a: null }, { a: 1, b: 2, c: 3 }]);
    const rows = await Promise.all(
      batch.body.ids.map((id: string) => table.send('GET', `/${id}?select=a,b,c`)),
    );
    expect(rows.map(({ text }) => text)).toEqual([
      '{"a":7,"b":5,"c":null}',
      '{"a":null,"b":5,"c":null}',
      '{"a":1,"b":2,"c":3}',
    ]);
    // A patch leaves columns unchanged that it does not name, and writes null where it names null.
    const patched = await table.send('PATCH', `/${missing.id}`, { a: null });
    expect([patched.body.a, patched.body.b]).toEqual([null, 5]);
  });

  test('a column that is not nullable refuses null, and without a default a missing key', async () => {
    const table = await world.table(['a:int', 'b:int:5']);
    const answers = {
      '{}': [{ column: 'a', code: 'required' }],
      '{"a":null}': [{ column: 'a', code: 'not_null' }],
      '{"a":null,"b":null}': [
        { column: 'a', code: 'not_null' },
        { column: 'b', code: 'not_null' },
      ],
    };
    for (const [body, errors] of Object.entries(answers)) {
      const single = await table.send('POST', '', body);
      expect([body, single.status, single.body.errors]).toMatchObject([body, 400, errors]);
      const batch = await table.send('POST', '', `{"a":1}\n${body}`, ndjson);
      expect(batch.body.errors).toMatchObject(errors.map((error) => ({ line: 2, ...error })));
    }
    const [row] = await table.insert({ a: 1 });
    expect((await table.send('PATCH', `/${row.id}`, { b: null })).body.errors).toMatchObject([
      { column: 'b', code: 'not_null' },
    ]);
    expect((await table.send('GET', '/_count')).body.count).toBe(1);
  });

  test('a unique column stores many nulls, and every other value once', async () => {
    const table = await world.table(['a:text:nullable']);
    expect((await table.shape('POST', '/indexes', { columns: ['a'], unique: true })).status).toBe(201);
    await table.insert({ a: null }, { a: null }, {}, { a: 'x' });
    const twice = await table.send('POST', '', { a: 'x' });
    expect([twice.status, twice.body.code]).toEqual([409, 'unique_violation']);
    expect(twice.body.errors).toEqual([
      { column: 'a', code: 'unique_violation', detail: expect.any(String) },
    ]);
    const parallel = await Promise.all([1, 2, 3, 4, 5].map(() => table.send('POST', '', { a: 'y' })));
    expect(parallel.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  });

  test('null matches is, never a comparison', async () => {
    const table = await world.table(['a:int:nullable']);
    await table.insert({ a: null }, { a: 1 });
    const count = async (search: string) => (await table.send('GET', `/_count?${search}`)).body.count;
    expect(await count('a=is.null')).toBe(1);
    expect(await count('a=is.not_null')).toBe(1);
    expect(await count('a=not.is.null')).toBe(1);
    expect([await count('a=neq.1'), await count('a=not.eq.1'), await count('a=gte.0')]).toEqual([0, 0, 1]);
    // On columns that are never null the operator works like any other.
    expect([await count('id=is.null'), await count('id=is.not_null')]).toEqual([0, 2]);
  });
});

describe('jsonb', () => {
  test('keeps every digit; the order of keys and the form of numbers are PostgreSQL’s; the last of two keys wins', async () => {
    const table = await world.table(['x:jsonb:nullable']);
    await expectRoundTrip(table, {
      '{"bb":1,"a":2}': '{"a": 2, "bb": 1}',
      '{"a":1,"a":2}': '{"a": 2}',
      '[null]': '[null]',
      '[]': '[]',
      '"text"': '"text"',
      '12345678901234567890.123456789': '12345678901234567890.123456789',
      '[1e3,1.10,-0]': '[1000, 1.10, 0]',
      true: 'true',
      null: 'null',
      '{"__proto__":{"x":1},"constructor":1}': '{"__proto__": {"x": 1}, "constructor": 1}',
      '"\\u00e9\\ud83d\\ude00\\n"': '"é😀\\n"',
    });
    // A top-level JSON null is SQL null; a nested one is a value.
    expect((await table.send('GET', '/_count?x=is.null')).body.count).toBeGreaterThan(0);
    expect((await table.send('GET', '/_count?x=eq.null')).body.count).toBe(0);
    expect((await table.send('GET', '/_count?x=eq.[null]')).body.count).toBeGreaterThan(0);
  });

  test('values that PostgreSQL cannot store are refused: U+0000, half a surrogate, endless nesting', async () => {
    const table = await ofType('jsonb');
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    await expectRejected(table, [
      '"\\u0000"',
      '{"\\u0000":1}',
      '["\\ud800"]',
      '"\\udc00x"',
      nested(101),
      '1e9999',
    ]);
    const deep = await table.send('POST', '', `{"x":${nested(100)}}`);
    expect(deep.status).toBe(201);
    for (const bomb of [nested(400_000), '['.repeat(900_000), '{"a":'.repeat(150_000)]) {
      expect((await table.send('POST', '', `{"x":${bomb}}`)).status).toBe(400);
    }
    await expectFilterRejected(table, ['{', '[1', 'undefined', 'NaN', '%22%5Cu0000%22']);
  });

  test('numbers compare as numbers, and containment and keys are found', async () => {
    const table = await ofType('jsonb');
    for (const x of ['9', '10', '{"a":1,"b":[1,2]}', '["a"]', '"a"']) await table.insert(`{"x":${x}}`);
    expect(await found(table, 'x=lt.10')).not.toContain(10);
    expect(await found(table, 'x=gt.9')).toContain(10);
    expect(await found(table, 'x=cs.{"b":[2]}')).toEqual([{ a: 1, b: [1, 2] }]);
    expect(await found(table, 'x=cd.{"a":1,"b":[1,2],"c":3}')).toEqual([{ a: 1, b: [1, 2] }]);
    expect(await found(table, 'x=hk.b')).toEqual([{ a: 1, b: [1, 2] }]);
    expect(await found(table, 'x=hk.a')).toEqual(['a', ['a'], { a: 1, b: [1, 2] }]);
    expect(await found(table, 'x=in.(9,"[""a""]")'.replaceAll('""', '%5C%22'))).toEqual([9, ['a']]);
  });
});

describe('other types', () => {
  test('a uuid is accepted in any case, with braces or without dashes, and returned in one form', async () => {
    const table = await ofType('uuid');
    const one = '"0190a0a0-0000-7000-8000-00000000abcd"';
    await expectRoundTrip(table, {
      [one]: one,
      '"0190A0A0-0000-7000-8000-00000000ABCD"': one,
      '"{0190a0a0-0000-7000-8000-00000000abcd}"': one,
      '"0190a0a000007000800000000000abcd"': one,
    });
    await expectRejected(table, ['"x"', '""', '1', '"0190a0a0-0000-7000-8000-00000000abc"', '"{0190a0a0"']);
    expect(await found(table, 'x=0190A0A000007000800000000000ABCD&per_page=1')).toHaveLength(1);
    await expectFilterRejected(table, ['x', '', '1']);
  });

  test('a bool is true or false and no other word that PostgreSQL accepts', async () => {
    const table = await ofType('bool');
    await expectRoundTrip(table, { true: 'true', false: 'false' });
    await expectRejected(table, ['"true"', '"t"', '1', '0', '"yes"', '"on"', '""']);
    await expectFilterRejected(table, ['t', 'yes', 'on', '1', '0', 'TRUE', '']);
    expect(new Set(await found(table, 'x=is.true'))).toEqual(new Set([true]));
    expect(new Set(await found(table, 'x=not.is.true'))).toEqual(new Set([false]));
  });

  test('text is stored byte by byte: control characters, quotes, combining marks, emoji, a byte order mark', async () => {
    const table = await ofType('text');
    const texts = ['', ' ', '"', '\\', '\\N', '\\.', '\t\n\r\b\f\v\u0001\u001f\u007f', 'é', 'e\u0301', '😀'];
    texts.push('\ufeff', '\u2028\u2029', "'; drop table x; --", '%00', '\\u0000', 'a\u200db', '{}');
    await expectRoundTrip(
      table,
      Object.fromEntries(texts.map((text) => [JSON.stringify(text), writtenOut(text)])),
    );
    for (const text of texts) {
      expect([text, await found(table, `x=eq.${encodeURIComponent(text)}&per_page=1`)]).toEqual([
        text,
        [text],
      ]);
    }
    await expectRejected(table, ['"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udfff\\ud800"']);
    expect((await table.send('GET', '?x=%00')).status).toBe(400);
  });

  test('text sorts by its bytes, upper before lower case and ASCII before the rest', async () => {
    const table = await ofType('text');
    for (const x of ['b', 'B', 'a', 'Ä', 'ä', 'z', '10', '9', '']) await table.insert({ x });
    expect(await found(table, '')).toEqual(['', '10', '9', 'B', 'a', 'b', 'z', 'Ä', 'ä']);
    expect(await found(table, 'x=isw.ä')).toEqual(['Ä', 'ä']);
    expect(await found(table, 'x=sw.ä')).toEqual(['ä']);
  });

  test('a text of 1 MiB is too large for a row, one below it is not, an indexed one ends at the index’s limit', async () => {
    const table = await world.table(['x:text:nullable', 'k:text:nullable']);
    const long = 'x'.repeat(1024 * 1024 - 20);
    const [row] = await table.insert({ x: long });
    expect(row.x).toBe(long);
    for (const x of ['x'.repeat(1024 * 1024), 'ä'.repeat(600 * 1024), 'x'.repeat(10_000_000)]) {
      expect((await table.send('POST', '', { x })).status).toBe(413);
      expect((await table.send('PATCH', `/${row.id}`, { x })).status).toBe(413);
    }
    expect((await table.shape('POST', '/indexes', { columns: ['k'], unique: true })).status).toBe(201);
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(6_000))).toString('base64');
    const indexed = await table.send('POST', '', { k: random });
    expect([indexed.status, indexed.body.code]).toEqual([400, 'validation_failed']);
    const batch = await table.send('POST', '', `{"k":"a"}\n{"k":"${random}"}`, ndjson);
    expect([batch.status, batch.body.errors[0].line]).toEqual([400, lineOf(2)]);
    expect((await table.send('GET', '/_count')).body.count).toBe(1);
  });

  test('bytes that are not UTF-8 are refused in bodies and URLs', async () => {
    const table = await ofType('text');
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe0, 0xa4]]) {
      const body = Buffer.concat([Buffer.from('{"x":"'), Buffer.from(bytes), Buffer.from('"}')]);
      for (const headers of [{}, ndjson]) {
        const answer = await table.send('POST', '', body, headers);
        expect([bytes, answer.status, answer.body.code]).toEqual([bytes, 400, 'malformed_json']);
      }
    }
    for (const search of ['?x=%E0%A4', '?x=%', '?%FF=1', '?select=%E0%A4', '?sort=%C0%80']) {
      expect([search, (await table.send('GET', search)).status]).toEqual([search, 400]);
    }
    expect((await table.send('GET', '/%E0%A4')).status).toBe(400);
  });
});

describe('date', () => {
  test('a date is returned as it was sent; other values are refused in rows and filters', async () => {
    const table = await ofType('date');
    await expectRoundTrip(table, {
      '"2024-02-29"': '"2024-02-29"',
      '"0001-01-01"': '"0001-01-01"',
      '"9999-12-31"': '"9999-12-31"',
    });
    const wrong = ['today', '2024-2-3', '2024-02-30', '2023-02-29', '0000-01-01', '2024-02-03T00:00:00Z', ''];
    await expectRejected(table, [...wrong.map((value) => JSON.stringify(value)), '20240203', 'true', '{}']);
    await expectFilterRejected(
      table,
      wrong.filter((value) => value !== ''),
    );
  });

  test('days sort and compare like times, have defaults and are described as dates', async () => {
    const table = await world.table(['x:date:2024-02-29', 'y:date:nullable']);
    await table.insert({}, { x: '1999-12-31' }, { x: '2024-03-01', y: '0001-01-01' });
    expect(await found(table, '')).toEqual(['1999-12-31', '2024-02-29', '2024-03-01']);
    expect(await found(table, 'x=gt.2024-02-28&x=lte.2024-02-29')).toEqual(['2024-02-29']);
    expect(await found(table, 'x=between.(1999-01-01,2024-02-29)')).toEqual(['1999-12-31', '2024-02-29']);
    expect(await found(table, 'x=not.in.(1999-12-31,2024-02-29)')).toEqual(['2024-03-01']);
    expect(await found(table, 'y=is.not_null')).toEqual(['2024-03-01']);
    expect((await table.send('GET', '?x=like.2024*')).status).toBe(400);
    expect((await table.list('?sort=-x&select=x&per_page=1')).map(({ x }) => x)).toEqual(['2024-03-01']);
  });
});

/** As the server writes it: every control character by its number. */
function writtenOut(text: string): string {
  const escaped = [...text].map((char) => {
    if (char === '"' || char === '\\') return `\\${char}`;
    return char < ' ' ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : char;
  });
  return `"${escaped.join('')}"`;
}
