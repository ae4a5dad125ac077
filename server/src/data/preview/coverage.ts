import { isAlways, type PlannedCondition } from '../tables/conditions.ts';

/** False only for conditions that no row can meet. */
export function canBeTrue(condition: PlannedCondition): boolean {
  if (condition.kind === 'test')
    return condition.negated || condition.op !== 'in' || condition.values.length > 0;
  const { kind, negated, parts } = condition;
  if (negated) return !(kind === 'and' ? parts.every(isAlways) : parts.some(isAlways));
  return kind === 'and' ? parts.every(canBeTrue) : parts.some(canBeTrue);
}

/**
 * Whether every row that meets the condition meets one of the others as well. Only the form is compared: false where it
 * would take knowledge about values.
 */
export function isCovered(condition: PlannedCondition, by: readonly PlannedCondition[]): boolean {
  const others = by.flatMap(alternativesOf).map(requirements);
  return alternativesOf(condition)
    .filter(canBeTrue)
    .every((each) => {
      const own = requirements(each);
      return others.some((other) => other.isSubsetOf(own));
    });
}

export const isEquivalent = (one: PlannedCondition, other: PlannedCondition) =>
  isCovered(one, [other]) && isCovered(other, [one]);

function alternativesOf(condition: PlannedCondition): PlannedCondition[] {
  return condition.kind === 'or' && !condition.negated
    ? condition.parts.flatMap(alternativesOf)
    : [condition];
}

function requirements(condition: PlannedCondition): Set<string> {
  const all = (each: PlannedCondition): string[] =>
    each.kind === 'and' && !each.negated ? each.parts.flatMap(all) : [formOf(each)];
  return new Set(all(condition));
}

const formOf = (condition: PlannedCondition) =>
  JSON.stringify(condition, (key, value) => (key === 'column' || key === 'other' ? value.physical : value));
