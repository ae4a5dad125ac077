import { describe, expect, test } from 'bun:test';
import { nameColumn, ownerColumn } from '../rows/testing.ts';
import { allOf, always, anyOf, equals, isOneOf, never, type PlannedCondition } from '../tables/conditions.ts';
import { canBeTrue, isCovered, isEquivalent } from './describe.ts';

const [eu, us, own] = [equals(nameColumn, 'eu'), equals(nameColumn, 'us'), equals(ownerColumn, 'ada')];
const not = (condition: PlannedCondition): PlannedCondition => ({
  ...condition,
  negated: !condition.negated,
});

test.each([
  ['always', always, true],
  ['never', never, false],
  ['a test', eu, true],
  ['an empty list', isOneOf(nameColumn, []), false],
  ['not in an empty list', not(isOneOf(nameColumn, [])), true],
  ['an empty list and more', allOf([eu, isOneOf(nameColumn, [])]), false],
  ['an empty list or more', anyOf([eu, isOneOf(nameColumn, [])]), true],
  ['not always', not(always), false],
  ['not never', not(never), true],
])('whether a row can meet %s', (_, condition, expected) => {
  expect(canBeTrue(condition)).toBe(expected);
});

describe('a condition is covered', () => {
  test.each([
    ['by itself', eu, [eu], true],
    ['by always', eu, [always], true],
    ['never by less', always, [eu, us], false],
    ['by its alternatives', anyOf([eu, us]), [us, eu], true],
    ['not by one of its alternatives', anyOf([eu, us]), [eu], false],
    ['by a part of what it requires', allOf([eu, own]), [own], true],
    ['not by more than it requires', own, [allOf([eu, own])], false],
    ['in any order', allOf([eu, own]), [allOf([own, eu])], true],
    ['not by its opposite', not(anyOf([eu, us])), [anyOf([eu, us])], false],
    ['if no row can meet it', never, [], true],
  ])('%s', (_, condition, by, expected) => {
    expect(isCovered(condition, by)).toBe(expected);
  });

  test('by a column that was loaded apart', () => {
    expect(isEquivalent(eu, equals({ ...nameColumn }, 'eu'))).toBe(true);
    expect(isEquivalent(eu, allOf([eu, own]))).toBe(false);
  });
});
