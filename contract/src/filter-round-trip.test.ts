import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type Condition,
  FilterError,
  type Group,
  type GroupParameter,
  parseGroup,
  parseRowFilter,
  parseTest,
  printRowFilter,
  type Test,
  type TextOp,
} from './filter.ts';
import { filterOps, isKeywords } from './rows.ts';

const tally = () => ({ tests: 0 });
const filter = (text: string) => parseTest('a', text, tally());
const group = (text: string, parameter: GroupParameter = 'or') => parseGroup(parameter, text, tally());

function eq(column: string, operand: string, negated = false): Test {
  return { kind: 'test', column, negated, op: 'eq', operand };
}

function refuses(parse: (text: string) => unknown, texts: readonly string[]) {
  for (const text of texts) {
    let thrown: unknown = 'accepted';
    try {
      parse(text);
    } catch (error) {
      thrown = error;
    }
    expect([text, thrown]).toEqual([text, expect.any(FilterError)]);
  }
}

const anyText = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'(),."\\ab*%_=&+ not.eq.in.()'), maxLength: 12 }),
  fc.string({ unit: 'grapheme' }),
);

const quoted = (value: string) => `"${value.replace(/["\\]/g, '\\$&')}"`;
const bareIfPlain = (value: string) => (/^[^"(),]*$/.test(value) ? value : quoted(value));

/** The inverse of the parser. */
function print(condition: Condition, write: (value: string) => string): string {
  const not = condition.negated ? 'not.' : '';
  if (condition.kind !== 'test') {
    return `${not}${condition.kind}(${condition.parts.map((part) => print(part, write)).join(',')})`;
  }
  return `${condition.column}.${not}${condition.op}.${printOperand(condition, write)}`;
}

function printOperand({ operand }: Test, write: (value: string) => string): string {
  if (typeof operand === 'string') return write(operand);
  // A list of one bare empty item would be the empty list.
  return operand.length === 1 ? `(${quoted(operand[0] ?? '')})` : `(${operand.map(write).join(',')})`;
}

const names = fc.constantFrom('a', 'orange', 'android', 'nothing', 'inside', 'eq', 'is', 'x_1');
const textOps = filterOps.filter(
  (op): op is Exclude<TextOp, 'like' | 'ilike'> => !['in', 'is', 'between', 'like', 'ilike'].includes(op),
);
const sqlPattern = fc
  .array(fc.constantFrom('%', '_', '\\%', '\\\\', '\\*', 'a', ',', ')', '"'))
  .map((parts) => parts.join(''));
const start = { kind: fc.constant('test' as const), column: names, negated: fc.boolean() };
const tests: fc.Arbitrary<Test> = fc.oneof(
  fc.record({ ...start, op: fc.constantFrom(...textOps), operand: anyText }),
  fc.record({ ...start, op: fc.constantFrom('like' as const, 'ilike' as const), operand: sqlPattern }),
  fc.record({ ...start, op: fc.constant('in' as const), operand: fc.array(anyText) }),
  fc.record({ ...start, op: fc.constant('between' as const), operand: fc.tuple(anyText, anyText) }),
  fc.record({ ...start, op: fc.constant('is' as const), operand: fc.constantFrom(...isKeywords) }),
);
function groups(depth: number): fc.Arbitrary<Group> {
  const part: fc.Arbitrary<Condition> = depth === 1 ? tests : fc.oneof(tests, groups(depth - 1));
  const kind = fc.constantFrom('and' as const, 'or' as const);
  return fc.record({ kind, negated: fc.boolean(), parts: fc.array(part, { minLength: 1, maxLength: 3 }) });
}

describe('arbitrary input', () => {
  test('a printed tree is parsed to the same tree', () => {
    fc.assert(
      fc.property(groups(3), fc.constantFrom(quoted, bareIfPlain), (tree, write) => {
        const printed = print(tree, write);
        const parameter = printed.slice(0, printed.indexOf('(')) as GroupParameter;
        expect(parseGroup(parameter, printed.slice(parameter.length), tally())).toEqual(tree);
      }),
      { numRuns: 1_000 },
    );
  });
  test('a printed test is parsed to the same test outside a group, its value verbatim', () => {
    fc.assert(
      fc.property(tests, (tree) => {
        const printed =
          typeof tree.operand === 'string' ? print(tree, (value) => value) : print(tree, quoted);
        expect(parseTest(tree.column, printed.slice(tree.column.length + 1), tally())).toEqual(tree);
      }),
      { numRuns: 1_000 },
    );
  });
  test('only FilterError is thrown', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const parse of [
          filter,
          group,
          (each: string) => filter(`in.(${each})`),
          (each: string) => group(`(${each})`),
        ]) {
          try {
            parse(text);
          } catch (error) {
            expect(error).toBeInstanceOf(FilterError);
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a stored filter', () => {
  test('consists of conditions joined by &', () => {
    expect(parseRowFilter('')).toEqual([]);
    expect(parseRowFilter('a=1&filter=First%20Name=eq.Ada&or=(b.eq.2)')).toEqual([
      eq('a', '1'),
      eq('First Name', 'Ada'),
      { kind: 'or', negated: false, parts: [eq('b', '2')] },
    ]);
  });
  test('requires a value for each column and refuses list parameters', () => {
    refuses(parseRowFilter, ['a', 'filter', 'or', 'sort=a', 'select=a', '=1', 'a=eq.%E0%A4', 'dry_run=true']);
  });
  test('is printed in a form that parses to the same filter', () => {
    fc.assert(
      fc.property(fc.array(tests, { maxLength: 5 }), (conditions) => {
        expect(parseRowFilter(printRowFilter(conditions))).toEqual(conditions);
      }),
    );
    expect(printRowFilter(parseRowFilter('a=in.("")'))).toBe('a=in.("")');
  });
});

test('any text can be quoted', () => {
  fc.assert(
    fc.property(fc.array(anyText), (items) => {
      expect(filter(`in.(${items.map(quoted).join(',')})`).operand).toEqual(items);
    }),
  );
});
