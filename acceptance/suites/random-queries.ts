import { conditionsMax } from '@svc/contract/rows.ts';
import type { Random } from '../support/random.ts';
import { makeValue, urlText, type Value } from './random-values.ts';
import {
  type Condition,
  commonOps,
  enumOps,
  jsonOps,
  listOps,
  type ModelColumn,
  type ModelQuery,
  type ModelRow,
  type PatternPart,
  type Test,
  textOps,
} from './row-model.ts';

/** A random query over a table, and the ways in which a URL spells it. */
export interface MadeQuery extends ModelQuery {
  /** Filters, select and sort; each pair is encoded. */
  parameters: string[];
}

export function makeQuery(
  random: Random,
  columns: readonly ModelColumn[],
  rows: readonly ModelRow[],
): MadeQuery {
  const operands: Operands = { random, columns, rows };
  const where = makeWhere(operands);
  const sorted = random.some(columns, random.pick([0, 1, 1, 2, 3, 8]));
  const sort = sorted.map((column) => ({ column, descending: random.chance(0.5) }));
  const select = random.chance(0.4) ? makeSelect(random, columns) : null;
  const parameters = where.map((condition) => conditionText(condition, random));
  if (sort.length > 0) {
    const keys = sort.map(({ column, descending }) => `${descending ? '-' : ''}${column.name}`);
    parameters.push(`sort=${encoded(keys.join(','), random)}`);
  }
  if (select) {
    const items = select.map(({ key, column }) => (key === column.name ? key : `${key}:${column.name}`));
    parameters.push(`select=${encoded(items.join(','), random)}`);
  }
  return { where, sort, select, parameters: random.some(parameters, parameters.length) };
}

interface Operands {
  random: Random;
  columns: readonly ModelColumn[];
  rows: readonly ModelRow[];
}

function makeSelect(random: Random, columns: readonly ModelColumn[]): MadeQuery['select'] {
  const keys = new Set<string>();
  return random
    .times(1 + random.below(6), () => random.pick(columns))
    .map((column) => ({
      column,
      key: random.chance(0.3) ? random.pick(['x', 'A', 'aB_1', 'constructor', column.name]) : column.name,
    }))
    .filter(({ key }) => !keys.has(key) && keys.add(key));
}

function makeWhere(operands: Operands): Condition[] {
  const { random } = operands;
  for (;;) {
    const where = random.times(random.pick([0, 1, 1, 1, 2, 3]), () => makeCondition(operands, 0));
    if (where.reduce((sum, condition) => sum + countTests(condition), 0) <= conditionsMax) return where;
  }
}

export const countTests = (condition: Condition): number =>
  condition.kind === 'test' ? 1 : condition.parts.reduce((sum, part) => sum + countTests(part), 0);

function makeCondition(operands: Operands, depth: number): Condition {
  const { random } = operands;
  if (depth < 4 && random.chance(depth === 0 ? 0.35 : 0.25)) {
    return {
      kind: random.pick(['and', 'or'] as const),
      negated: random.chance(0.3),
      parts: random.times(1 + random.below(4), () => makeCondition(operands, depth + 1)),
    };
  }
  return makeTest(operands);
}

function makeTest({ random, columns, rows }: Operands): Test {
  const column = random.pick(columns);
  const { type } = column;
  const storedOrRandom = (): Value => {
    const value = rows.length > 0 && random.chance(0.8) ? random.pick(rows).get(column.name) : undefined;
    return value ?? makeValue(type, random);
  };
  const op = random.pick(operatorsOf(type));
  const test: Test = { kind: 'test', column, negated: random.chance(0.25), op, values: [] };
  switch (op) {
    case 'is':
      return {
        ...test,
        keyword: random.pick([
          ...(['null', 'not_null'] as const),
          ...(type === 'bool' ? (['true', 'false'] as const) : []),
        ]),
      };
    case 'in':
      return { ...test, values: random.times(random.pick([0, 1, 2, 3, 12]), storedOrRandom) };
    case 'between':
      return { ...test, values: [storedOrRandom(), storedOrRandom()] };
    case 'like':
    case 'ilike':
      return { ...test, pattern: makePattern(random, String(storedOrRandom())) };
    case 'hk':
      return { ...test, values: [random.pick(['a', 'b', 'aa', 'k', 'ä', '', 'x y'])] };
    case 'sw':
    case 'ew':
    case 'has':
    case 'isw':
    case 'iew':
    case 'ihas':
      return { ...test, values: [partOf(random, String(storedOrRandom()))] };
    default:
      return { ...test, values: [storedOrRandom()] };
  }
}

function operatorsOf(type: ModelColumn['type']): readonly Test['op'][] {
  if (type === 'text[]' || type === 'int[]') return listOps;
  if (type.startsWith('enum')) return enumOps;
  return [...commonOps, ...(type === 'text' ? textOps : []), ...(type === 'jsonb' ? jsonOps : [])];
}

/** A part of the text, some letters in the other case. */
function partOf(random: Random, text: string): string {
  const chars = [...text];
  const from = random.pick([0, 0, random.below(chars.length + 1)]);
  return chars
    .slice(from, random.pick([chars.length, from + random.below(chars.length + 1)]))
    .map((char) => otherCase(random, char))
    .join('');
}

function otherCase(random: Random, char: string): string {
  const other = random.pick([char, char, char.toUpperCase(), char.toLowerCase()]);
  return [...other].length === 1 ? other : char;
}

function makePattern(random: Random, text: string): PatternPart[] {
  return [...text].flatMap((char): PatternPart[] => {
    const cased = { char: otherCase(random, char) };
    return random.pick<PatternPart[]>([
      [cased],
      [cased],
      [cased],
      [{ one: true }],
      [{ any: true }],
      [cased, { any: true }],
      [],
    ]);
  });
}

const ops = [...commonOps, ...textOps, ...jsonOps, ...listOps].join('|');
const likeOperator = new RegExp(`^(not\\.)*(${ops})\\.`);

function conditionText(condition: Condition, random: Random): string {
  if (condition.kind !== 'test') {
    return `${groupName(condition, random)}=${encoded(groupText(condition, random), random)}`;
  }
  const { column, op, negated } = condition;
  const operand = operandText(condition, random, 'alone');
  const bare = op === 'eq' && !negated && !likeOperator.test(operand) && random.chance(0.5);
  const text = bare ? operand : `${negated ? 'not.' : ''}${op}.${operand}`;
  if (random.chance(0.3)) return `filter=${encoded(`${column.name}=${text}`, random)}`;
  return `${column.name}=${encoded(text, random)}`;
}

function groupName({ kind, negated }: Exclude<Condition, Test>, random: Random): string {
  if (!negated) return kind;
  return kind === 'and' && random.chance(0.5) ? 'not' : `not.${kind}`;
}

function groupText({ parts }: Exclude<Condition, Test>, random: Random): string {
  const items = parts.map((part) => {
    if (part.kind !== 'test') return `${groupName(part, random)}${groupText(part, random)}`;
    const { column, op, negated } = part;
    return `${column.name}.${negated ? 'not.' : ''}${op}.${operandText(part, random, 'in a group')}`;
  });
  return `(${items.join(',')})`;
}

function operandText(test: Test, random: Random, place: 'alone' | 'in a group'): string {
  const spelled = test.values.map((value) =>
    test.column.type === 'jsonb' && test.op === 'hk'
      ? String(value)
      : urlText(test.column.type, value, random),
  );
  if (test.op === 'in' || test.op === 'between') {
    return `(${spelled.map((text) => item(text, random)).join(',')})`;
  }
  const text = test.keyword ?? (test.pattern ? patternText(test.pattern, random) : spelled[0]!);
  return place === 'alone' ? text : item(text, random);
}

/** Quoted where required; an empty list is not a list of one empty item. */
function item(text: string, random: Random): string {
  if (text !== '' && !/[,()"]/.test(text) && random.chance(0.7)) return text;
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

function patternText(pattern: readonly PatternPart[], random: Random): string {
  return pattern
    .map((part) => {
      if ('any' in part) return random.pick(['%', '*']);
      if ('one' in part) return '_';
      return /[%_*\\]/.test(part.char) || random.chance(0.1) ? `\\${part.char}` : part.char;
    })
    .join('');
}

function encoded(text: string, random: Random): string {
  const strict = encodeURIComponent(text);
  return random.chance(0.5)
    ? strict
    : strict.replaceAll('%20', '+').replace(/%(?:2C|3A)/g, decodeURIComponent);
}
