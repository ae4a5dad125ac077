import { expect, test } from 'bun:test';
import { itemsOf, membersOf, objectText } from './raw-json.ts';

test('each member keeps the very text that it was written in', () => {
  const text = ' { "a" : 1.10, "b":"x,\\"}", "c":[1,{"d":"]"}], "e":null,"big":123456789012345678901.50 } ';
  expect([...membersOf(text)]).toEqual([
    ['a', '1.10'],
    ['b', '"x,\\"}"'],
    ['c', '[1,{"d":"]"}]'],
    ['e', 'null'],
    ['big', '123456789012345678901.50'],
  ]);
});

test('an empty object has no members and an empty list no items', () => {
  expect(membersOf('{}').size).toBe(0);
  expect(itemsOf('[ ]')).toEqual([]);
});

test('items of a list are taken apart at its own commas alone', () => {
  expect(itemsOf('[{"a":[1,2]}, "b,c" ,3,"\\\\"]')).toEqual(['{"a":[1,2]}', '"b,c"', '3', '"\\\\"']);
});

test('what was taken apart is put together to the same values', () => {
  const text = '{"a":9007199254740993,"b":{"c":1e3}}';
  expect(objectText(membersOf(text))).toBe(text);
});
