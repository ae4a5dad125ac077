import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { patientMs } from '../../scripts/patience.ts';
import {
  jsonItems,
  jsonMembers,
  objectText,
  parseLossless,
  plainValues,
  scanObject,
  withoutMembers,
} from './json.ts';

interface Scan {
  wrong: string | null;
  members: [string, string][];
}

function scan(text: string, start = 0, end = text.length): Scan {
  const members: [string, string][] = [];
  const wrong = scanObject(text, start, end, (key, from, to) => members.push([key, text.slice(from, to)]));
  return { wrong, members };
}

test('each member is reported with the text of its value', () => {
  expect(scan(' {"a" : 1.50 ,\t"b":"x\\"}","c":[1,{"d":"]"}],"e":null,"":{}}\r\n')).toEqual({
    wrong: null,
    members: [
      ['a', '1.50'],
      ['b', '"x\\"}"'],
      ['c', '[1,{"d":"]"}]'],
      ['e', 'null'],
      ['', '{}'],
    ],
  });
  expect(scan('{}')).toEqual({ wrong: null, members: [] });
  expect(scan(' { } ')).toEqual({ wrong: null, members: [] });
});

test('only the part between start and end is read', () => {
  const lines = '{"a":1}\n{"b":"2"}\n{"c":3}';
  expect(scan(lines, 8, 17)).toEqual({ wrong: null, members: [['b', '"2"']] });
  expect(scan(lines, 8, 16).wrong).toBeString();
  expect(scan('{"a":"x"}', 0, 7).wrong).toBeString();
});

test('keys are decoded, and a repeated key is reported each time', () => {
  expect(scan('{"\\u0061":1,"a":2,"\\n\\"":3}').members).toEqual([
    ['a', '1'],
    ['a', '2'],
    ['\n"', '3'],
  ]);
});

test('__proto__ and constructor are keys like others', () => {
  expect(scan('{"__proto__":1,"constructor":2}').members.map(([key]) => key)).toEqual([
    '__proto__',
    'constructor',
  ]);
});

test('scalars, arrays, empty text, a BOM and text after the end are refused', () => {
  const others = [
    '',
    ' ',
    '[]',
    '[{"a":1}]',
    '1',
    '"a"',
    'null',
    '\ufeff{}',
    '{}{}',
    '{},',
    '{"a":1} x',
    '{}\0',
  ];
  for (const text of others) expect([text, scan(text).wrong]).toEqual([text, expect.any(String)]);
});

test('broken objects are refused', () => {
  const broken = [
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{,"a":1}',
    '{"a" 1}',
    '{"a"::1}',
    '{"a":1 2}',
    '{a:1}',
    "{'a':1}",
    '{"a":"x}',
    '{"a":"x\\"}',
    '{"a":[1}',
    '{"a":}',
    '{"a":,"b":1}',
    '{"a\n":1}',
    '{"\\x":1}',
    '{"a":1;"b":2}',
    '{"a":1 "b":2}',
    '{"a":"x""b":1}',
    '{1:1}',
    '{null:1}',
    '{"a":{"b":1}',
    '{"a":1}}',
    '{"a":]}',
  ];
  for (const text of broken) expect([text, scan(text).wrong]).toEqual([text, expect.any(String)]);
});

test('a depth bomb is skipped without recursion, in linear time', () => {
  const started = performance.now();
  const bomb = '['.repeat(1_000_000);
  expect(scan(`{"a":${bomb}${']'.repeat(1_000_000)}}`).wrong).toBeNull();
  expect(scan(`{"a":${bomb}`).wrong).toBeString();
  expect(scan(`{"a":"${'\\"'.repeat(1_000_000)}`).wrong).toBeString();
  expect(performance.now() - started).toBeLessThan(patientMs(1_000));
});

const objects = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom('a', '__proto__', '"', '\\')),
  fc.jsonValue(),
);

test('agrees with JSON.parse on the members of any object', () => {
  fc.assert(
    fc.property(objects, fc.constantFrom(undefined, 1, '\t'), (object, indent) => {
      const text = JSON.stringify(object, null, indent);
      const { wrong, members } = scan(text);
      expect(wrong).toBeNull();
      expect(members.map(([key, raw]) => [key, JSON.parse(raw)])).toEqual(Object.entries(JSON.parse(text)));
      for (const [, raw] of members) expect(raw).toBe(raw.trim());
    }),
    { numRuns: 500 },
  );
});

test('agrees with JSON.parse on what is an object at all, when a text is damaged', () => {
  const damage = fc.record({
    at: fc.nat(),
    cut: fc.nat({ max: 2 }),
    put: fc.oneof(
      fc.constant(''),
      fc.string({ unit: fc.constantFrom(...'{}[]",:\\ \n1e-.tu\0'), maxLength: 2 }),
    ),
  });
  let damaged = 0;
  fc.assert(
    fc.property(objects, fc.array(damage, { minLength: 1, maxLength: 3 }), (object, damages) => {
      let text = JSON.stringify(object);
      for (const { at, cut, put } of damages) {
        const place = at % (text.length + 1);
        text = text.slice(0, place) + put + text.slice(place + cut);
      }
      const { wrong, members } = scan(text);
      const accepted = wrong === null && members.every(([, raw]) => parsed(raw) !== undefined);
      const value = parsed(text);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      expect([text, accepted]).toEqual([text, isObject]);
      if (!isObject) damaged++;
    }),
    { numRuns: 1_000 },
  );
  expect(damaged).toBeGreaterThan(200);
});

/** Undefined is no JSON value. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

test.each([
  '{"a":9223372036854775807}',
  '{"a":-0,"b":[1.10,1e400,0.1234567890123456789]}',
  '[12345678901234567890,{"deep":[100000000000000000000000000.5]}]',
  '{"plain":1,"text":"12345678901234567890"}',
])('%s is printed as it was read', (text) => {
  expect(JSON.stringify(parseLossless(text))).toBe(text);
});

test('small numbers stay numbers', () => {
  expect(parseLossless('{"a":1.5,"b":9007199254740991,"c":1e3}')).toMatchObject({
    a: 1.5,
    b: 9007199254740991,
  });
});

test('for YAML, long integers are integers, and a number that would lose digits is a string', () => {
  const value = parseLossless(
    '{"a":9223372036854775807,"b":[1.10],"c":0.1234567890123456789,"d":null,"e":1e400}',
  );
  expect(plainValues(value)).toEqual({
    a: 9223372036854775807n,
    b: [1.1],
    c: '0.1234567890123456789',
    d: null,
    e: '1e400',
  });
});

describe('removing members', () => {
  const names = new Set(['created_at', 'updated_at']);

  test.each([
    ['{"id":1,"created_at":"x","b":2}', '{"id":1,"b":2}'],
    ['{ "created_at" : "a,}\\"" , "b" : {"created_at":[1,{}]} }', '{"b" : {"created_at":[1,{}]}}'],
    ['{"created_at":null,"updated_at":1.10}', '{}'],
    ['{"a":"created_at"}', '{"a":"created_at"}'],
    ['{"created_at":1', '{"created_at":1'],
    ['["created_at"]', '["created_at"]'],
  ])('%s becomes %s', (text, expected) => {
    expect(withoutMembers(text, names)).toBe(expected);
  });

  test('has the same result as deleting the properties of the object', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b', 'created_at', 'updated_at'), fc.jsonValue()),
        (object) => {
          const text = JSON.stringify(object);
          const { created_at: _, updated_at: __, ...rest } = JSON.parse(text);
          expect(JSON.parse(withoutMembers(text, names))).toEqual(rest);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

test('the text of each member is unchanged', () => {
  const text = ' { "a" : 1.10, "b":"x,\\"}", "c":[1,{"d":"]"}], "e":null,"big":123456789012345678901.50 } ';
  expect([...jsonMembers(text)]).toEqual([
    ['a', '1.10'],
    ['b', '"x,\\"}"'],
    ['c', '[1,{"d":"]"}]'],
    ['e', 'null'],
    ['big', '123456789012345678901.50'],
  ]);
});

test('an empty object has no members and an empty list no items', () => {
  expect(jsonMembers('{}').size).toBe(0);
  expect(jsonItems('[ ]')).toEqual([]);
});

test('a list is split at its own commas only', () => {
  expect(jsonItems('[{"a":[1,2]}, "b,c" ,3,"\\\\"]')).toEqual(['{"a":[1,2]}', '"b,c"', '3', '"\\\\"']);
});

test('members that were split can be joined to the same values', () => {
  const text = '{"a":9007199254740993,"b":{"c":1e3}}';
  expect(objectText(jsonMembers(text))).toBe(text);
});
