import { describe, expect, test } from 'bun:test';
import { conditionsMax, filterOps, groupDepthMax, inValuesMax, isKeywords } from '@svc/contract/rows.ts';
import fc from 'fast-check';
import { Failure } from '../plumbing/problem.ts';
import { type GroupParameter, parseFilter, parseGroup } from './parse-filter.ts';
import type { Condition, Group, Test, TextOp } from './query-syntax.ts';

const tally = () => ({ tests: 0 });
const filter = (text: string) => parseFilter('a', text, tally());
const group = (text: string, parameter: GroupParameter = 'or') => parseGroup(parameter, text, tally());

function eq(column: string, operand: string, negated = false): Test {
  return { kind: 'test', column, negated, op: 'eq', operand };
}
const literal = (operand: string) => eq('a', operand);

function refuses(parse: (text: string) => unknown, texts: readonly string[]) {
  for (const text of texts) {
    let thrown: unknown = 'accepted';
    try {
      parse(text);
    } catch (error) {
      thrown = error;
    }
    expect([text, thrown]).toEqual([text, expect.any(Failure)]);
    if (thrown instanceof Failure) {
      expect(thrown.code).toBe('validation_failed');
      expect(thrown.errors).toEqual([
        { field: expect.any(String), code: expect.any(String), detail: expect.any(String) },
      ]);
    }
  }
}

describe('col=value', () => {
  test('an empty value is eq of the empty text', () => {
    expect(filter('')).toEqual(literal(''));
    expect(filter('eq.')).toEqual(literal(''));
    expect(filter('not.eq.')).toEqual(eq('a', '', true));
  });
  test('what does not begin with an operator and a dot is a literal', () => {
    const literals = [
      '5',
      'eq',
      'EQ.5',
      'x.eq.5',
      'equal.5',
      ' eq.5',
      'null',
      '(a,b)',
      '"x"',
      'in',
      'betweens.(1,2)',
    ];
    for (const text of [
      ...literals,
      'not.',
      'not',
      'not.x',
      'not.eq',
      'not.EQ.5',
      '1.5',
      '.',
      '..',
      'a.b.c',
      'example.com',
    ]) {
      expect(filter(text)).toEqual(literal(text));
    }
  });
  test('after op. the value is verbatim to the end', () => {
    for (const value of [
      'eq.5',
      'not.eq.5',
      'in.example.com',
      '"q"',
      'a,b)',
      '(',
      '\\',
      ' ',
      '*',
      '%',
      'a=b&c',
      '😀',
    ]) {
      expect(filter(`eq.${value}`)).toEqual(literal(value));
    }
  });
  test('host=in.example.com begins with an operator, so it is a malformed list; eq. is the way', () => {
    refuses(filter, ['in.example.com', 'is.example.com', 'between.us']);
    expect(filter('eq.in.example.com')).toEqual(literal('in.example.com'));
  });
  test('every operator is known, and not. may stand before each', () => {
    for (const op of filterOps) {
      const operand = { in: '(1)', between: '(1,2)', is: 'null' }[op as string] ?? 'x';
      expect(filter(`${op}.${operand}`)).toMatchObject({ op, negated: false });
      expect(filter(`not.${op}.${operand}`)).toMatchObject({ op, negated: true });
    }
  });
  test('not.not. before an operator is refused, before anything else a literal', () => {
    refuses(filter, ['not.not.eq.1', 'not.not.not.in.(1)']);
    expect(filter('not.not.sure')).toEqual(literal('not.not.sure'));
  });
  test('is takes null, not_null, true and false', () => {
    for (const keyword of isKeywords)
      expect(filter(`is.${keyword}`)).toMatchObject({ op: 'is', operand: keyword });
    refuses(filter, ['is.', 'is.NULL', 'is.unknown', 'is.null ', 'is.not.null', 'not.is.maybe']);
  });
});

describe('like', () => {
  const pattern = (text: string) => filter(`like.${text}`).operand;
  test('* is %, an escaped one is itself', () => {
    expect(pattern('a*b%c_')).toBe('a%b%c_');
    expect(pattern('50\\%*')).toBe('50\\%%');
    expect(pattern('\\*\\\\*')).toBe('\\*\\\\%');
    expect(filter('not.ilike.*x').operand).toBe('%x');
    expect(pattern('')).toBe('');
  });
  test('a lone \\ at the end is refused, a doubled one is not', () => {
    refuses(filter, ['like.\\', 'like.a\\', 'ilike.a\\\\\\', 'not.like.*\\']);
    expect(pattern('a\\\\')).toBe('a\\\\');
  });
  test('literal operators leave * and \\ alone', () => {
    for (const op of ['sw', 'ew', 'has', 'isw', 'iew', 'ihas'])
      expect(filter(`${op}.*%_\\`).operand).toBe('*%_\\');
  });
});

describe('lists', () => {
  const list = (text: string) => filter(`in.${text}`).operand;
  test('items are split by commas and kept verbatim', () => {
    expect(list('(a,b,"c,d")')).toEqual(['a', 'b', 'c,d']);
    expect(list('( a , b )')).toEqual([' a ', ' b ']);
    expect(list('(a"b,c\\d)')).toEqual(['a"b', 'c\\d']);
    expect(list('("a\\"b","c\\\\d",")(",",")')).toEqual(['a"b', 'c\\d', ')(', ',']);
    expect(list('(f(x,y),z)')).toEqual(['f(x,y)', 'z']);
  });
  test('in.() is the empty list; ("") and (,) hold empty texts', () => {
    expect(list('()')).toEqual([]);
    expect(list('("")')).toEqual(['']);
    expect(list('(,)')).toEqual(['', '']);
    expect(list('(a,)')).toEqual(['a', '']);
  });
  test('broken lists are refused', () => {
    refuses(filter, [
      ...[
        'in.',
        'in.a',
        'in.a,b',
        'in.(',
        'in.(a',
        'in.(a,',
        'in.(a))',
        'in.(a)b',
        'in. (a)',
        'in.("a)',
        'in.("a"b)',
      ],
      ...['in.("a" ,b)', 'in.("a\\")', 'in.("a\\n")', 'in.((a)', 'in.(a(b,c)', 'in."a"', 'in.("\\'],
    ]);
  });
  test('between takes exactly two', () => {
    expect(filter('between.(1,9)').operand).toEqual(['1', '9']);
    expect(filter('not.between.("a,b",)').operand).toEqual(['a,b', '']);
    refuses(filter, ['between.()', 'between.(1)', 'between.(1,2,3)', 'between.1,2', 'between.(1,2']);
  });
  test('a list holds at most the values of the contract', () => {
    const values = (count: number) => `in.(${Array(count).fill('7').join(',')})`;
    expect(filter(values(inValuesMax)).operand).toHaveLength(inValuesMax);
    refuses(filter, [values(inValuesMax + 1)]);
  });
  test('quoting holds any text', () => {
    fc.assert(
      fc.property(fc.array(anyText), (items) => {
        expect(list(`(${items.map(quoted).join(',')})`)).toEqual(items);
      }),
    );
  });
});

describe('groups', () => {
  test('the example of the contract', () => {
    expect(group('(a.eq.1,and(b.gt.2,c.is.null))')).toEqual({
      kind: 'or',
      negated: false,
      parts: [
        eq('a', '1'),
        {
          kind: 'and',
          negated: false,
          parts: [
            { kind: 'test', column: 'b', negated: false, op: 'gt', operand: '2' },
            { kind: 'test', column: 'c', negated: false, op: 'is', operand: 'null' },
          ],
        },
      ],
    });
  });
  test('negation stands before groups and before operators', () => {
    const parts = [eq('a', '1')];
    expect(group('(a.eq.1)', 'not')).toEqual({ kind: 'and', negated: true, parts });
    expect(group('(a.eq.1)', 'not.and')).toEqual({ kind: 'and', negated: true, parts });
    expect(group('(a.eq.1)', 'not.or')).toEqual({ kind: 'or', negated: true, parts });
    expect(group('(not.or(a.eq.1),not.and(a.eq.1),not(a.eq.1),a.not.eq.1)').parts).toEqual([
      { kind: 'or', negated: true, parts },
      { kind: 'and', negated: true, parts },
      { kind: 'and', negated: true, parts },
      eq('a', '1', true),
    ]);
  });
  test('columns whose names begin like a keyword or an operator are columns', () => {
    const names = [
      'orange',
      'organism',
      'android',
      'and_more',
      'nothing',
      'inside',
      'island',
      'or_',
      'eq',
      'in',
      'has',
    ];
    for (const name of names) {
      expect(group(`(${name}.eq.1,${name}.not.eq.2)`).parts).toEqual([eq(name, '1'), eq(name, '2', true)]);
    }
  });
  test('a value ends at the comma or bracket of its own depth, or is quoted', () => {
    expect(group('(a.eq.f(x,y),b.eq."1,2)",c.eq.)').parts).toEqual([
      eq('a', 'f(x,y)'),
      eq('b', '1,2)'),
      eq('c', ''),
    ]);
    expect(group('(a.eq. x ,b.eq.v"w",c.eq.1.5.eq.2)').parts).toEqual([
      eq('a', ' x '),
      eq('b', 'v"w"'),
      eq('c', '1.5.eq.2'),
    ]);
    expect(group('(a.in.(1,"2)"),b.between.(1,2),c.like."\\\\**")').parts).toMatchObject([
      { op: 'in', operand: ['1', '2)'] },
      { op: 'between', operand: ['1', '2'] },
      { op: 'like', operand: '\\*%' },
    ]);
  });
  test('broken groups are refused', () => {
    refuses(group, [
      ...[
        '',
        'a.eq.1',
        '(',
        ')',
        '()',
        '(a)',
        '(a.eq)',
        '(a.eq.1',
        'a.eq.1)',
        '(a.eq.1))',
        '(a.eq.1)b',
        '((a.eq.1))',
      ],
      ...[
        '(a.eq.1,)',
        '(,a.eq.1)',
        '(a.5)',
        '(a.x.5)',
        '(.eq.5)',
        '(a.not.not.eq.5)',
        '(and)',
        '(and())',
        '(or(a.eq.1)',
      ],
      ...[
        '(a.eq.1 and(b.eq.1))x',
        '(a.eq."1)',
        '(a.eq."1"2)',
        '(a.in.1,2)',
        '(a.in.(1)2)',
        '(a.is.nil)',
        '(a.like."\\\\")',
      ],
      ...['(and(a.eq.1)b.eq.2)', '(a,b.eq.1)', '("a".eq.1)', '(not.a.eq.1)', ' (a.eq.1)'],
    ]);
  });
  test('the depth is bounded before it is entered', () => {
    const nested = (depth: number) => `${'(and'.repeat(depth - 1)}(a.eq.1)${')'.repeat(depth - 1)}`;
    expect(group(nested(groupDepthMax)).kind).toBe('or');
    refuses(group, [nested(groupDepthMax + 1), nested(100_000), '('.repeat(100_000), '(and'.repeat(100_000)]);
  });
  test('at most 50 conditions, over all parameters of a query', () => {
    const conditions = (count: number) => `(${Array(count).fill('a.eq.1').join(',')})`;
    expect(group(conditions(conditionsMax)).parts).toHaveLength(conditionsMax);
    refuses(group, [conditions(conditionsMax + 1), conditions(100_000)]);
    const shared = tally();
    parseGroup('and', conditions(conditionsMax - 1), shared);
    parseFilter('a', '1', shared);
    refuses((text) => parseFilter('a', text, shared), ['1']);
  });
});

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

describe('whatever is sent', () => {
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
        expect(parseFilter(tree.column, printed.slice(tree.column.length + 1), tally())).toEqual(tree);
      }),
      { numRuns: 1_000 },
    );
  });
  test('nothing but a refusal is thrown', () => {
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
            expect(error).toBeInstanceOf(Failure);
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
