import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseExact, plainValues, withoutMembers } from './exact-json.ts';

test.each([
  '{"a":9223372036854775807}',
  '{"a":-0,"b":[1.10,1e400,0.1234567890123456789]}',
  '[12345678901234567890,{"deep":[100000000000000000000000000.5]}]',
  '{"plain":1,"text":"12345678901234567890"}',
])('%s comes out as it went in', (text) => {
  expect(JSON.stringify(parseExact(text))).toBe(text);
});

test('small numbers stay numbers', () => {
  expect(parseExact('{"a":1.5,"b":9007199254740991,"c":1e3}')).toMatchObject({ a: 1.5, b: 9007199254740991 });
});

test('for YAML long integers are integers, and a number that would change is a text', () => {
  const value = parseExact(
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

describe('leaving out members', () => {
  const names = new Set(['created_at', 'updated_at']);

  test.each([
    ['{"id":1,"created_at":"x","b":2}', '{"id":1,"b":2}'],
    ['{ "created_at" : "a,}\\"" , "b" : {"created_at":[1,{}]} }', '{"b" : {"created_at":[1,{}]} }'],
    ['{"created_at":null,"updated_at":1.10}', '{}'],
    ['{"a":"created_at"}', '{"a":"created_at"}'],
    ['{"created_at":1', '{"created_at":1'],
    ['["created_at"]', '["created_at"]'],
  ])('%s becomes %s', (text, expected) => {
    expect(withoutMembers(text, names)).toBe(expected);
  });

  test('is the same as leaving them out of the object', () => {
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
