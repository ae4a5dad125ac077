import { expect, test } from 'bun:test';
import { columnTypes } from '@svc/contract/columns.ts';
import fc from 'fast-check';
import { parseRowObject } from './parse-row.ts';
import { testTable } from './testing.ts';

const names = ['name', ...columnTypes.map((type) => type.replace('[]', 's')), 'nope'];

/** JSON sources of values that are stored as they are, stored otherwise, or refused. */
const sources = [
  '""',
  '"plain"',
  '"a\\nb"',
  '"ä€"',
  '"😀"',
  '"\\ud800"',
  '"\u0001"',
  '"a\tb"',
  '"open',
  'null',
  'nul',
  '',
  '0',
  '-0',
  '00',
  '7',
  '-7',
  '+7',
  '2147483647',
  '2147483648',
  '999999999',
  '1234567890123456',
  '"12"',

  '9223372036854775807',
  '9223372036854775808',
  '1.5',
  '1.50',
  '-0.0',
  '1.',
  '.5',
  '1e3',
  '1e400',
  '12.3456789',
  'true',
  'false',
  'truefalse',
  '"true"',
  '{"a":[1,"x"]}',
  '{"a":',
  '[]',
  '[1,2]',
  '["a","b"]',
  '{}',

  '"2026-01-31T09:30:00Z"',
  '"2026-02-28T09:30:00.123456Z"',
  '"2026-02-30T09:30:00Z"',
  '"0000-01-01T00:00:00Z"',
  '"2026-01-31T09:30:00+09:00"',
  '"2026-01-31"',
  '"now"',
  '"01890a5d-ac96-774b-bcce-b302099a8057"',
  '"01890A5D-AC96-774B-BCCE-B302099A8057"',
  '"{01890a5d-ac96-774b-bcce-b302099a8057}"',
  '"01890a5d"',
];

const member = fc.tuple(fc.constantFrom(...names), fc.constantFrom(...sources));
/** Before the object, around its separators, after it. */
const style = fc.constantFrom(
  ['', '', ''],
  ['', ' ', ''],
  [' ', '', '\r'],
  ['', '\n ', '\n'],
  ['', '', 'x'],
  ['', '', '}'],
);
const text = fc.tuple(fc.array(member, { maxLength: 5 }), style).map(([members, [before, space, after]]) => {
  const inner = members.map(([key, value]) => `${space}"${key}":${space}${value}`).join(',');
  return `${before}{${inner}}${after}`;
});

test('a row is read in the same way whatever row was read before it', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), fc.nat(2), (texts, repeat) => {
      const table = testTable();
      for (const each of texts.flatMap((one) => Array.from({ length: repeat + 1 }, () => one))) {
        const alone = parseRowObject(testTable(), each, 0, each.length);
        expect(parseRowObject(table, each, 0, each.length)).toEqual(alone);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('other values in a known layout are read as in a new one', () => {
  const pair = fc.tuple(fc.constantFrom(...names), fc.constantFrom(...sources), fc.constantFrom(...sources));
  fc.assert(
    fc.property(fc.array(pair, { minLength: 1, maxLength: 4 }), style, (members, [before, space, after]) => {
      const row = (values: readonly string[]) =>
        `${before}{${members.map(([key], at) => `${space}"${key}":${space}${values[at]}`).join(',')}}${after}`;
      const table = testTable();
      const known = row(members.map(() => 'null'));
      for (const each of [known, row(members.map(([, one]) => one)), row(members.map(([, , two]) => two))]) {
        const alone = parseRowObject(testTable(), each, 0, each.length);
        expect(parseRowObject(table, each, 0, each.length)).toEqual(alone);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('the end of a line ends a row, also where its layout goes on after it', () => {
  const table = testTable();
  const spread = '{\n"name":"a"}';
  expect(parseRowObject(table, spread, 0, spread.length)).toContain('a');
  expect(parseRowObject(table, spread, 0, 1)).toEqual([
    { code: 'malformed_json', detail: 'is not terminated' },
  ]);
});
