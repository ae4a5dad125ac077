import { describe, expect, test } from 'bun:test';
import {
  FilterError,
  type GroupParameter,
  parseGroup,
  parseTest,
  type Test,
  toSqlPattern,
} from './filter.ts';
import { conditionsMax, filterOps, groupDepthMax, inValuesMax, isKeywords } from './rows.ts';

const tally = () => ({ tests: 0 });
const filter = (text: string) => parseTest('a', text, tally());
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
    expect([text, thrown]).toEqual([text, expect.any(FilterError)]);
  }
}

describe('col=value', () => {
  test('an empty value compares with the empty string', () => {
    expect(filter('')).toEqual(literal(''));
    expect(filter('eq.')).toEqual(literal(''));
    expect(filter('not.eq.')).toEqual(eq('a', '', true));
  });
  test('a value without an operator and a dot is a literal', () => {
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
  test('after the operator the value is verbatim to the end', () => {
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
  test('host=in.example.com is a malformed list, and eq. avoids that', () => {
    refuses(filter, ['in.example.com', 'is.example.com', 'between.us']);
    expect(filter('eq.in.example.com')).toEqual(literal('in.example.com'));
  });
  test('every operator is known and can be negated', () => {
    for (const op of filterOps) {
      const operand = { in: '(1)', between: '(1,2)', is: 'null' }[op as string] ?? 'x';
      expect(filter(`${op}.${operand}`)).toMatchObject({ op, negated: false });
      expect(filter(`not.${op}.${operand}`)).toMatchObject({ op, negated: true });
    }
  });
  test('not.not. is refused before an operator, and is a literal otherwise', () => {
    refuses(filter, ['not.not.eq.1', 'not.not.not.in.(1)']);
    expect(filter('not.not.sure')).toEqual(literal('not.not.sure'));
  });
  test('is accepts null, not_null, true and false', () => {
    for (const keyword of isKeywords)
      expect(filter(`is.${keyword}`)).toMatchObject({ op: 'is', operand: keyword });
    refuses(filter, ['is.', 'is.NULL', 'is.unknown', 'is.null ', 'is.not.null', 'not.is.maybe']);
  });
});

describe('like', () => {
  const pattern = (text: string) => toSqlPattern(filter(`like.${text}`).operand as string);
  test('* means %, and an escaped * is a literal', () => {
    expect(pattern('a*b%c_')).toBe('a%b%c_');
    expect(pattern('50\\%*')).toBe('50\\%%');
    expect(pattern('\\*\\\\*')).toBe('\\*\\\\%');
    expect(filter('not.ilike.*x').operand).toBe('*x');
    expect(pattern('')).toBe('');
  });
  test('a single \\ at the end is refused, and a double one is not', () => {
    refuses(filter, ['like.\\', 'like.a\\', 'ilike.a\\\\\\', 'not.like.*\\']);
    expect(pattern('a\\\\')).toBe('a\\\\');
  });
  test('literal operators do not interpret * and \\', () => {
    for (const op of ['sw', 'ew', 'has', 'isw', 'iew', 'ihas'])
      expect(filter(`${op}.*%_\\`).operand).toBe('*%_\\');
  });
});

describe('lists', () => {
  const list = (text: string) => filter(`in.${text}`).operand;
  test('items are split at commas and are verbatim', () => {
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
      'in.("a" ,b)',
      'in.("a\\")',
      'in.("a\\n")',
      'in.((a)',
      'in.(a(b,c)',
      'in."a"',
      'in.("\\',
    ]);
  });
  test('between requires two values', () => {
    expect(filter('between.(1,9)').operand).toEqual(['1', '9']);
    expect(filter('not.between.("a,b",)').operand).toEqual(['a,b', '']);
    refuses(filter, ['between.()', 'between.(1)', 'between.(1,2,3)', 'between.1,2', 'between.(1,2']);
  });
  test('a list has a limited number of values', () => {
    const values = (count: number) => `in.(${Array(count).fill('7').join(',')})`;
    expect(filter(values(inValuesMax)).operand).toHaveLength(inValuesMax);
    refuses(filter, [values(inValuesMax + 1)]);
  });
});

describe('groups', () => {
  test('the documented example is parsed', () => {
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
  test('groups and operators can be negated', () => {
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
  test('a column name can begin like a keyword or an operator', () => {
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
  test('a value ends at the comma or bracket of its own depth unless it is quoted', () => {
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
      { op: 'like', operand: '\\**' },
    ]);
  });
  test('broken groups are refused', () => {
    refuses(group, [
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
      '(a.eq.1,)',
      '(,a.eq.1)',
      '(a.5)',
      '(a.x.5)',
      '(.eq.5)',
      '(a.not.not.eq.5)',
      '(and)',
      '(and())',
      '(or(a.eq.1)',
      '(a.eq.1 and(b.eq.1))x',
      '(a.eq."1)',
      '(a.eq."1"2)',
      '(a.in.1,2)',
      '(a.in.(1)2)',
      '(a.is.nil)',
      '(a.like."\\\\")',
      '(and(a.eq.1)b.eq.2)',
      '(a,b.eq.1)',
      '("a".eq.1)',
      '(not.a.eq.1)',
      ' (a.eq.1)',
    ]);
  });
  test('the depth is limited', () => {
    const nested = (depth: number) => `${'(and'.repeat(depth - 1)}(a.eq.1)${')'.repeat(depth - 1)}`;
    expect(group(nested(groupDepthMax)).kind).toBe('or');
    refuses(group, [nested(groupDepthMax + 1), nested(100_000), '('.repeat(100_000), '(and'.repeat(100_000)]);
  });
  test('a query has at most 50 conditions in all parameters', () => {
    const conditions = (count: number) => `(${Array(count).fill('a.eq.1').join(',')})`;
    expect(group(conditions(conditionsMax)).parts).toHaveLength(conditionsMax);
    refuses(group, [conditions(conditionsMax + 1), conditions(100_000)]);
    const shared = tally();
    parseGroup('and', conditions(conditionsMax - 1), shared);
    parseTest('a', '1', shared);
    refuses((text) => parseTest('a', text, shared), ['1']);
  });
});

test.each([
  ['eqq.EU', 'eq'],
  ['not.qe.1', 'eq'],
  ['ne.1', 'neq'],
  ['contains.tea', 'has'],
  ['ihsa.tea', 'ihas'],
  ['www.example.com', null],
  ['eq.eqq.EU', null],
  ['v1.2.3', null],
  ['Mr. Smith', null],
  ['plain', null],
])('%s is noted as a misspelt operator only where it looks like one', (value, meant) => {
  const notes: string[] = [];
  parseTest('a', value, { tests: 0, notes });
  expect(notes.map((note) => /did you mean "(\w+)\."/.exec(note)?.[1])).toEqual(
    meant === null ? [] : [meant],
  );
});
