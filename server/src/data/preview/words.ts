import type { CatalogueColumn } from '../tables/catalogue.ts';
import { isAlways, isNever, type PlannedCondition, type PlannedTest } from '../tables/conditions.ts';

interface WordOptions {
  isShown(column: CatalogueColumn): boolean;
  names: ReadonlyMap<string, string>;
}

export function conditionWords(condition: PlannedCondition, options: WordOptions): string {
  if (isAlways(condition)) return 'all rows';
  if (isNever(condition)) return 'no rows';
  return words(condition, options);
}

function words(condition: PlannedCondition, options: WordOptions): string {
  if (condition.kind === 'test') {
    if (!comparedColumns(condition).every((column) => options.isShown(column)))
      return 'a condition on a column that you cannot see';
    const text = `“${condition.column.name}” ${comparisonWords(condition, options)}`;
    return condition.negated ? `not (${text})` : text;
  }
  if (condition.parts.length === 0)
    return (condition.kind === 'and') === condition.negated ? 'never' : 'always';
  const parts = condition.parts.map((part) => {
    const text = words(part, options);
    return part.kind === 'test' || part.negated || part.parts.length < 2 ? text : `(${text})`;
  });
  const text = [...new Set(parts)].join(` ${condition.kind} `);
  return condition.negated ? `not (${text})` : text;
}

const verbs = {
  eq: 'is',
  neq: 'is not',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  like: 'matches',
  ilike: 'matches in any case',
  sw: 'starts with',
  ew: 'ends with',
  has: 'contains',
  isw: 'starts in any case with',
  iew: 'ends in any case with',
  ihas: 'contains in any case',
  cs: 'contains',
  ov: 'shares a value with',
  cd: 'is contained in',
  hk: 'has the key',
} as const;
const keywords: Readonly<Record<string, string>> = { null: 'is empty', not_null: 'is not empty' };

function comparisonWords(test: PlannedTest, { names }: WordOptions): string {
  const value = (text: string) => names.get(text) ?? JSON.stringify(text);
  switch (test.op) {
    case 'is':
      return keywords[test.keyword] ?? `is ${test.keyword}`;
    case 'in':
      return test.values.length === 0
        ? 'is one of an empty list'
        : `is one of ${test.values.map(value).join(', ')}`;
    case 'between':
      return `is between ${value(test.from)} and ${value(test.to)}`;
    case 'same':
      return `${verbs[test.as]} the ${test.row} value of “${test.other.name}”`;
    case 'related':
      return 'has related rows';
    default:
      return `${verbs[test.op]} ${value(test.value)}`;
  }
}

export function comparedColumns(condition: PlannedCondition): CatalogueColumn[] {
  if (condition.kind !== 'test') return condition.parts.flatMap(comparedColumns);
  return condition.op === 'same' ? [condition.column, condition.other] : [condition.column];
}

export function listWords(items: readonly string[]): string {
  const unique = [...new Set(items)];
  return unique.length < 2 ? (unique[0] ?? '') : `${unique.slice(0, -1).join(', ')} and ${unique.at(-1)}`;
}

export function policyWords(names: readonly string[]): string {
  const quoted = [...new Set(names)].map((name) => `“${name}”`);
  return `the ${quoted.length > 1 ? 'policies' : 'policy'} ${listWords(quoted)}`;
}

export const shellWord = (text: string) =>
  /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
