import { describe, expect, test } from 'bun:test';
import { type ColumnType, columnTypes } from '@svc/contract/columns.ts';
import fc from 'fast-check';
import { type ParsedJson, type ParsedText, parseJson, parseText, parseUrlText } from './values.ts';

/** The bound parameter, or `refused`. */
const bound = (checked: ParsedText | ParsedJson) => (checked.ok ? checked.value : 'refused');
const text = (type: ColumnType, value: string) => bound(parseText(type, value));
const json = (type: ColumnType, raw: string) => bound(parseJson({ type }, raw));

function refusesText(type: ColumnType, values: readonly string[]) {
  for (const value of values) expect([type, value, text(type, value)]).toEqual([type, value, 'refused']);
}
function refusesJson(type: ColumnType, values: readonly string[]) {
  for (const value of values) expect([type, value, json(type, value)]).toEqual([type, value, 'refused']);
}

describe('timestamptz', () => {
  test('is RFC 3339, normalized', () => {
    expect(text('timestamptz', '2026-01-02T03:04:05.123456+09:00')).toBe('2026-01-02T03:04:05.123456+09:00');
    expect(text('timestamptz', '2026-01-02t03:04:05z')).toBe('2026-01-02T03:04:05Z');
    expect(text('timestamptz', '2026-01-02T03:04:05-00:00')).toBe('2026-01-02T03:04:05-00:00');
    expect(json('timestamptz', '"2026-01-02T03:04:05.5-03:30"')).toBe('2026-01-02T03:04:05.5-03:30');
  });
  test('an unencoded + of an offset is accepted in a URL only', () => {
    const spaced = ['2026-01-02T03:04:05 09:00', '2026-01-02T03:04:05.5 16:00'];
    expect(spaced.map((value) => bound(parseUrlText({ type: 'timestamptz' }, value)))).toEqual([
      '2026-01-02T03:04:05+09:00',
      '2026-01-01T11:04:05.5Z',
    ]);
    refusesText('timestamptz', spaced);
    refusesJson(
      'timestamptz',
      spaced.map((value) => JSON.stringify(value)),
    );
    for (const value of ['2026-01-02 03:04:05 09:00', '2026-01-02T03:04:05  09:00', ' 09:00', ' '])
      expect(bound(parseUrlText({ type: 'timestamptz' }, value))).toBe('refused');
  });
  test('other values in a URL are parsed as elsewhere', () => {
    for (const type of columnTypes)
      for (const value of [
        '1',
        ' 1',
        'a b',
        'true',
        '2026-01-02T03:04:05-09:00',
        '2026-01-02T03:04:05+09:00',
      ])
        expect(parseUrlText({ type }, value)).toEqual(parseText(type, value));
  });
  test('fractions beyond six digits are cut, not rounded', () => {
    expect(text('timestamptz', '2026-12-31T23:59:59.9999999Z')).toBe('2026-12-31T23:59:59.999999Z');
    expect(text('timestamptz', `2026-12-31T23:59:59.${'9'.repeat(40)}+01:00`)).toBe(
      '2026-12-31T23:59:59.999999+01:00',
    );
  });
  test('offsets of 16 hours and more are converted to UTC', () => {
    expect(text('timestamptz', '2026-01-02T03:04:05.5+15:59')).toBe('2026-01-02T03:04:05.5+15:59');
    expect(text('timestamptz', '2026-01-02T03:04:05.5+23:59')).toBe('2026-01-01T03:05:05.5Z');
    expect(text('timestamptz', '2024-02-28T23:00:00-16:00')).toBe('2024-02-29T15:00:00Z');
    refusesText('timestamptz', ['2026-01-02T03:04:05+24:00', '2026-01-02T03:04:05+09:60']);
  });
  test('only the years 0001 to 9999, in UTC too', () => {
    expect(text('timestamptz', '0001-01-01T00:00:00Z')).toBe('0001-01-01T00:00:00Z');
    expect(text('timestamptz', '0001-01-01T09:00:00+09:00')).toBe('0001-01-01T00:00:00Z');
    expect(text('timestamptz', '9999-12-31T22:59:59.9-01:00')).toBe('9999-12-31T23:59:59.9Z');
    refusesText('timestamptz', [
      '0000-12-31T23:59:59Z',
      '0001-01-01T00:00:00+00:01',
      '9999-12-31T23:59:59-00:01',
      '10000-01-01T00:00:00Z',
      '+10000-01-01T00:00:00Z',
      '-0001-01-01T00:00:00Z',
      '0044-03-15T12:00:00Z BC',
    ]);
  });
  test('invalid days, leap seconds and hour 24 are refused', () => {
    expect(text('timestamptz', '2024-02-29T00:00:00Z')).toBe('2024-02-29T00:00:00Z');
    expect(text('timestamptz', '2000-02-29T00:00:00Z')).toBe('2000-02-29T00:00:00Z');
    refusesText('timestamptz', [
      '2026-02-30T00:00:00Z',
      '2026-02-29T00:00:00Z',
      '1900-02-29T00:00:00Z',
      '2026-04-31T00:00:00Z',
      '2026-00-01T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-01-00T00:00:00Z',
      '2026-01-32T00:00:00Z',
      '2016-12-31T23:59:60Z',
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:60:00Z',
    ]);
  });
  test('PostgreSQL’s other spellings are refused', () => {
    refusesText('timestamptz', [
      'now',
      'today',
      'yesterday',
      'infinity',
      '-infinity',
      'epoch',
      'allballs',
      '01/02/2024',
      '',

      '2026-01-02',
      '2026-01-02T03:04Z',
      '2026-01-02T03:04:05',
      '2026-01-02 03:04:05Z',
      '20260102T030405Z',

      '2026-01-02T03:04:05+0900',
      '2026-01-02T03:04:05+09',
      '2026-01-02T03:04:05 UTC',
      '2026-01-02T03:04:05.Z',

      '2026-01-02T03:04:05,5Z',
      ' 2026-01-02T03:04:05Z',
      '2026-01-02T03:04:05Z\n',
      '２０26-01-02T03:04:05Z',
    ]);
    refusesJson('timestamptz', ['1700000000', 'true', '2026-01-02T03:04:05Z', '["2026-01-02T03:04:05Z"]']);
  });
  test('keeps the instant', () => {
    const dates = fc.date({
      min: new Date('0001-01-03T00:00:00Z'),
      max: new Date('9999-12-29T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(dates, fc.integer({ min: -1439, max: 1439 }), (date, offset) => {
        const local = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const size = Math.abs(offset);
        const zone = `${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`;
        const value = text('timestamptz', `${local}${offset < 0 ? '-' : '+'}${zone}`);
        expect(Date.parse(String(value))).toBe(date.getTime());
      }),
    );
  });
});

describe('date', () => {
  test('a day of the years 0001 to 9999 is taken as it is', () => {
    for (const value of ['0001-01-01', '1999-12-31', '2000-02-29', '2024-02-29', '9999-12-31']) {
      expect(text('date', value)).toBe(value);
      expect(json('date', JSON.stringify(value))).toBe(value);
      expect(bound(parseUrlText({ type: 'date' }, value))).toBe(value);
    }
  });
  test('everything that is not an RFC 3339 full-date is refused', () => {
    const texts = [
      '',
      'today',
      'infinity',
      'now()',
      '2024-2-3',
      '20240203',
      '2024-02-30',
      '2023-02-29',
      '1900-02-29',
    ];
    const more = [
      '2024-13-01',
      '2024-00-10',
      '2024-04-31',
      '0000-01-01',
      '10000-01-01',
      '-0001-01-01',
      ' 2024-02-03',
    ];
    const times = ['2024-02-03T00:00:00Z', '2024-02-03 00:00', '03/02/2024', '2024-02-03\n', '٢٠٢٤-٠٢-٠٣'];
    const all = [...texts, ...more, ...times];
    refusesText('date', all);
    refusesJson('date', [...all.map((value) => JSON.stringify(value)), '20240203', 'true', '{}', '[]']);
  });
});
