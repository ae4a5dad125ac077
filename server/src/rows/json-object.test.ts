import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { scanObject } from './json-object.ts';

interface Scan {
  wrong: string | null;
  members: [string, string][];
}

function scan(text: string, start = 0, end = text.length): Scan {
  const members: [string, string][] = [];
  const wrong = scanObject(text, start, end, (key, from, to) => members.push([key, text.slice(from, to)]));
  return { wrong, members };
}

test('each member is handed out with its value as it was written', () => {
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

test('keys are decoded, and a repeated one is handed out each time', () => {
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

test('what is no object is refused: scalars, arrays, nothing, a BOM, garbage after the end', () => {
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
    ...[
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
    ],
    ...[
      '{a:1}',
      "{'a':1}",
      '{"a":"x}',
      '{"a":"x\\"}',
      '{"a":[1}',
      '{"a":}',
      '{"a":,"b":1}',
      '{"a\n":1}',
      '{"\\x":1}',
    ],
    ...[
      '{"a":1;"b":2}',
      '{"a":1 "b":2}',
      '{"a":"x""b":1}',
      '{1:1}',
      '{null:1}',
      '{"a":{"b":1}',
      '{"a":1}}',
      '{"a":]}',
    ],
  ];
  for (const text of broken) expect([text, scan(text).wrong]).toEqual([text, expect.any(String)]);
});

test('a depth bomb is skipped without recursion, in linear time', () => {
  const started = performance.now();
  const bomb = '['.repeat(1_000_000);
  expect(scan(`{"a":${bomb}${']'.repeat(1_000_000)}}`).wrong).toBeNull();
  expect(scan(`{"a":${bomb}`).wrong).toBeString();
  expect(scan(`{"a":"${'\\"'.repeat(1_000_000)}`).wrong).toBeString();
  expect(performance.now() - started).toBeLessThan(1_000);
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
      // As in use: a value is parsed by whoever takes it.
      const accepted = wrong === null && members.every(([, raw]) => parsed(raw) !== undefined);
      const value = parsed(text);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      expect([text, accepted]).toEqual([text, isObject]);
      if (!isObject) damaged++;
    }),
    { numRuns: 5_000 },
  );
  expect(damaged).toBeGreaterThan(1_000);
});

/** Undefined is no JSON value. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
