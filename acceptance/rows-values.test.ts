import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { expectFilterRejected, expectRejected, expectRoundTrip, xOf } from './suites/row-values.ts';
import { rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);

/** A table with one value beside its id. */
const ofType = (type: string) => world.table([`x:${type}`]);

const found = async (table: TestTable, search: string) =>
  (await table.list(`?select=x&sort=x&${search}`)).map(({ x }) => x);

describe('numbers', () => {
  test('a bigint is a JSON number up to 2^53-1 in size, beyond that a string, and loses no digit', async () => {
    const cases = {
      '0': '0',
      '-0': '0',
      '9007199254740991': '9007199254740991',
      '"9007199254740991"': '9007199254740991',
      '-9007199254740991': '-9007199254740991',
      '9007199254740992': '"9007199254740992"',
      '9007199254740993': '"9007199254740993"',
      '"9007199254740993"': '"9007199254740993"',
      '-9007199254740993': '"-9007199254740993"',
      '9223372036854775807': '"9223372036854775807"',
      '-9223372036854775808': '"-9223372036854775808"',
    };
    await expectRoundTrip(await ofType('bigint'), cases);
  });

  test('a bigint beyond ±2^63, a fraction, an exponent, true and "" are refused in rows and in filters', async () => {
    const table = await ofType('bigint');
    const wrong = ['9223372036854775808', '-9223372036854775809', '1.0', '1e3', 'true', '""', '[1]', '{}'];
    await expectRejected(table, [...wrong, '"1e3"', '" 1"', '"0x1"', '01', '+1', 'NaN']);
    await expectFilterRejected(table, [
      '9223372036854775808',
      '1.0',
      '1e3',
      'true',
      '',
      'NaN',
      '01',
      '+1',
      'null',
    ]);
  });

  test('filters and sorts of bigints compare numbers, with every digit', async () => {
    const table = await ofType('bigint');
    for (const x of ['9', '10', '9007199254740992', '9007199254740993', '-9223372036854775808'])
      await table.insert(`{"x":${x}}`);
    expect(await found(table, '')).toEqual([
      '-9223372036854775808',
      9,
      10,
      '9007199254740992',
      '9007199254740993',
    ]);
    expect(await found(table, 'x=9007199254740993')).toEqual(['9007199254740993']);
    expect(await found(table, 'x=gt.9007199254740992')).toEqual(['9007199254740993']);
    expect(await found(table, 'x=between.(9,10)')).toEqual([9, 10]);
    expect(await found(table, 'x=in.(9,9007199254740992)')).toEqual([9, '9007199254740992']);
  });

  test('an int holds four bytes and nothing that is not a whole number', async () => {
    const table = await ofType('int');
    await expectRoundTrip(table, { '2147483647': '2147483647', '-2147483648': '-2147483648', '-0': '0' });
    await expectRejected(table, [
      '2147483648',
      '-2147483649',
      '1.0',
      '1e3',
      'true',
      '""',
      '"1"',
      '9007199254740993',
    ]);
    await expectFilterRejected(table, ['2147483648', '1.0', '1e3', '', 'true', '%201', '1_000', 'NaN']);
  });

  test('a float comes back as the number it is; 1e400, NaN and Infinity are refused', async () => {
    const table = await ofType('float');
    await expectRoundTrip(table, {
      '1': '1',
      '1.0': '1',
      '1e3': '1000',
      '-0': '-0',
      '0.1': '0.1',
      '1.7976931348623157e308': '1.7976931348623157e+308',
      '5e-324': '5e-324',
      '123456789.123456789': '123456789.12345679',
    });
    await expectRejected(table, ['1e400', '-1e400', '"1"', '""', 'true']);
    await expectRejected(table, ['NaN', 'Infinity', '-Infinity', '.5', '1.', '01', '"NaN"', '"Infinity"']);
    await expectFilterRejected(table, ['1e400', 'NaN', 'Infinity', '', 'true', '0x1']);
    // -0 equals 0, as in SQL and in JSON.
    expect((await table.send('GET', '/_count?x=0')).body).toEqual({ count: 2 });
  });

  test('a text of digits stays a text, in rows, filters and sort', async () => {
    const table = await ofType('text');
    for (const x of ['007', '7', '10', '9007199254740993', '1e3', 'true', 'null', 'NaN'])
      await table.insert({ x });
    expect(await found(table, 'x=007')).toEqual(['007']);
    expect(await found(table, 'x=7')).toEqual(['7']);
    expect(await found(table, 'x=9007199254740993')).toEqual(['9007199254740993']);
    expect(await found(table, 'x=null')).toEqual(['null']);
    expect(await found(table, 'x=lt.2')).toEqual(['007', '10', '1e3']);
    await expectRejected(table, ['7', 'true', '{}', '[]']);
  });
});

describe('time', () => {
  test('any offset comes in, UTC goes out; more than six digits of a second are cut', async () => {
    await expectRoundTrip(await ofType('timestamptz'), {
      '"2026-01-31T09:30:00Z"': '"2026-01-31T09:30:00Z"',
      '"2026-01-31t09:30:00z"': '"2026-01-31T09:30:00Z"',
      '"2026-01-31T09:30:00+09:00"': '"2026-01-31T00:30:00Z"',
      '"2026-01-31T09:30:00-00:30"': '"2026-01-31T10:00:00Z"',
      '"2026-01-31T09:30:00.1234569Z"': '"2026-01-31T09:30:00.123456Z"',
      '"2026-01-31T23:59:59.9999999Z"': '"2026-01-31T23:59:59.999999Z"',
      '"2026-01-31T09:30:00.100Z"': '"2026-01-31T09:30:00.1Z"',
      '"2024-02-29T00:00:00Z"': '"2024-02-29T00:00:00Z"',
      '"0001-01-01T00:00:00Z"': '"0001-01-01T00:00:00Z"',
      '"9999-12-31T23:59:59.999999Z"': '"9999-12-31T23:59:59.999999Z"',
      '"2026-01-01T00:00:00+23:59"': '"2025-12-31T00:01:00Z"',
    });
  });

  test('a time that is not RFC 3339 is refused, also where PostgreSQL would accept it', async () => {
    const table = await ofType('timestamptz');
    const wrong = ['2026-02-30T00:00:00Z', '2026-06-30T23:59:60Z', '2026-01-01T24:00:00Z', '2026-01-31'];
    wrong.push('now', 'yesterday', 'today', 'infinity', '-infinity', 'epoch', '01/02/2024', '20260131');
    wrong.push('10000-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '0044-03-15T00:00:00Z BC', '', '1767225600');
    wrong.push('9999-12-31T23:59:59-00:01', '0001-01-01T00:00:00+00:01', '2026-01-31T09:30:00');
    await expectRejected(
      table,
      wrong.map((text) => JSON.stringify(text)),
    );
    // In a URL the space was a `+`; in a body it is literal.
    await expectRejected(table, ['1767225600', 'true', '{}', '"2026-01-31T09:30:00 09:00"']);
    await expectFilterRejected(table, wrong.map(encodeURIComponent));
  });

  test('a filter takes an offset with its + encoded or not, and compares instants', async () => {
    const table = await ofType('timestamptz');
    const times = ['2026-01-31T00:30:00Z', '2026-01-31T00:30:00.000001Z', '2025-12-31T23:59:59Z'];
    for (const x of times) await table.insert({ x });
    for (const asked of ['2026-01-31T09:30:00+09:00', '2026-01-31T09:30:00%2B09:00', '2026-01-31t00:30:00z'])
      expect(await found(table, `x=${asked}`)).toEqual(['2026-01-31T00:30:00Z']);
    expect(await found(table, 'x=gt.2026-01-31T00:30:00Z')).toEqual(['2026-01-31T00:30:00.000001Z']);
    expect(await found(table, 'x=between.(2026-01-01T00:00:00Z,2026-01-31T00:30:00Z)')).toEqual([
      '2026-01-31T00:30:00Z',
    ]);
    expect(await found(table, '')).toEqual([times[2], times[0], times[1]]);
  });

  test('times are UTC whatever the time zone of the connection', async () => {
    const table = await world.table(['x:timestamptz:now()', 'n:int']);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        n % 3 === 0
          ? table.send('POST', '', n % 2 === 0 ? `{"n":${n}}\n{"n":"x"}` : `{"n":${n}}\n{"n":1}`)
          : table.send('POST', '', { n }),
      ),
    );
    for (const { status, text } of answers)
      if (status === 201 && text.includes('"x"')) expect(xOf(text)).toMatch(/^"[\d-]{10}T[\d:.]+Z",/);
  });
});
