import { describe, expect, test } from 'bun:test';
import { reservedNames, writeParameters } from '@svc/contract/columns.ts';
import type { Test, TextOp } from '@svc/contract/filter.ts';
import { conditionsMax, filterOps } from '@svc/contract/rows.ts';
import fc from 'fast-check';
import { patientMs } from '../../../../scripts/patience.ts';
import { Failure } from '../../core/problem.ts';
import { parseQuery, type QueryUse } from './parse-query.ts';

const uses: readonly QueryUse[] = ['list', 'count', 'one', 'insert', 'change'];
const list = (search: string) => parseQuery(search, 'list');
function eq(column: string, operand: string): Test & { op: TextOp } {
  return { kind: 'test', column, negated: false, op: 'eq', operand };
}

/** The code of the refusal, or null. */
function refusal(search: string, use: QueryUse = 'list'): string | null {
  try {
    parseQuery(search, use);
    return null;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    expect(error.errors?.[0]).toEqual({
      field: expect.any(String),
      code: expect.any(String),
      detail: expect.any(String),
    });
    return error.code;
  }
}
function refuses(code: string, searches: readonly string[], use: QueryUse = 'list') {
  for (const search of searches) expect([use, search, refusal(search, use)]).toEqual([use, search, code]);
}

test('an empty query has no conditions and the defaults', () => {
  for (const use of uses) {
    for (const search of ['', '&', '&&']) {
      expect(parseQuery(search, use)).toEqual({
        select: null,
        where: [],
        sort: [],
        page: null,
        perPage: null,
        cursor: null,
        count: null,
        onConflict: null,
        maxAffected: null,
        dryRun: false,
        snapshot: false,
        distinct: [],
        search: null,
        aggregates: [],
        having: [],
        notes: [],
        related: [],
        isRelated: false,
      });
    }
  }
});

describe('names', () => {
  test('any column name is a filter', () => {
    for (const name of [
      'id',
      'orange',
      'organism',
      'xmin',
      'constructor',
      'a'.repeat(63),
      'to_string',
      'eq',
      'in',
    ]) {
      expect(list(`${name}=1`).where).toEqual([eq(name, '1')]);
    }
  });
  test('a name that cannot be a column is an unknown parameter', () => {
    const names = [
      '_x',
      '_count',
      'A',
      '1a',
      'a.b',
      'a,b',
      '"a"',
      'a:b',
      'a b',
      'a->b',
      '😀',
      'é',
      'a'.repeat(64),
      '',
    ];
    const searches = [...names, '__proto__', 'not.not', 'not.eq', 'or.not', 'limit\0'].map(
      (name) => `${encodeURIComponent(name)}=1`,
    );
    for (const use of ['list', 'count'] as const) refuses('unknown_parameter', searches, use);
    refuses('unknown_parameter', [
      '=',
      '=1',
      'dry_run=true',
      'on_conflict=a',
      '__proto__',
      'a%20=1',
      'a[]=1',
    ]);
  });
  test('filter= accepts any column name', () => {
    for (const name of ['select', 'or', 'dry_run', 'Name', 'a.b', '__proto__', 'a b', '😀']) {
      expect(list(`filter=${encodeURIComponent(`${name}=gt.5`)}`).where).toEqual([
        { ...eq(name, '5'), op: 'gt' },
      ]);
    }
    refuses('validation_failed', ['filter=', 'filter', 'filter=a', 'filter==1', 'filter=a.eq.1']);
  });
  test('reserved names are never columns', () => {
    for (const name of [...reservedNames, ...writeParameters]) {
      if (refusal(`${name}=5`) === null) expect(list(`${name}=5`).where).toEqual([]);
    }
  });
});

describe('filters', () => {
  test('repeated columns, also as filter=, keep their order', () => {
    expect(list('a=1&filter=a=2&a=gt.3&filter=b%3Dlt.4').where).toEqual([
      eq('a', '1'),
      eq('a', '2'),
      { ...eq('a', '3'), op: 'gt' },
      { ...eq('b', '4'), op: 'lt' },
    ]);
  });
  test('a value may contain =, and an empty value is the empty text', () => {
    expect(list('a=b=c').where).toEqual([eq('a', 'b=c')]);
    expect(list('filter=a=b=c').where).toEqual([eq('a', 'b=c')]);
    expect(list('a=').where).toEqual([eq('a', '')]);
    expect(list('a').where).toEqual([eq('a', '')]);
    expect(list('filter=a=').where).toEqual([eq('a', '')]);
  });
  test('groups are repeatable parameters beside filters', () => {
    expect(
      list('or=(a.eq.1)&and=(a.eq.1)&not=(a.eq.1)&not.or=(a.eq.1)&not.and=(a.eq.1)&or=(a.eq.1)&a=1').where,
    ).toEqual([
      { kind: 'or', negated: false, parts: [eq('a', '1')] },
      { kind: 'and', negated: false, parts: [eq('a', '1')] },
      { kind: 'and', negated: true, parts: [eq('a', '1')] },
      { kind: 'or', negated: true, parts: [eq('a', '1')] },
      { kind: 'and', negated: true, parts: [eq('a', '1')] },
      { kind: 'or', negated: false, parts: [eq('a', '1')] },
      eq('a', '1'),
    ]);
    refuses('validation_failed', ['or=1', 'and=', 'not=eq.1', 'not=a.eq.1']);
  });
  test('host=in.example.com is refused; host=eq.in.example.com works', () => {
    refuses('validation_failed', ['host=in.example.com']);
    expect(list('host=eq.in.example.com').where).toEqual([eq('host', 'in.example.com')]);
  });
  test('at most 50 conditions in all forms together', () => {
    const most = `${'a=1&'.repeat(conditionsMax - 3)}filter=a=1&or=(a.eq.1,a.eq.2)`;
    expect(refusal(most)).toBeNull();
    refuses('validation_failed', [`${most}&b=1`, `b=1&${most}`]);
  });
  test('a filter of 10 kB is accepted', () => {
    expect(list(`a=${'x'.repeat(10_000)}`).where).toEqual([eq('a', 'x'.repeat(10_000))]);
  });
});

describe('encoding', () => {
  test('+ is a space, %2B a plus', () => {
    expect(list('a=1+2%2B3').where).toEqual([eq('a', '1 2+3')]);
    expect(list('filter=a=x+y').where).toEqual([eq('a', 'x y')]);
  });
  test('UTF-8 is decoded in names and values; & and = may be encoded', () => {
    expect(list('%61=%F0%9F%98%80%26%3D').where).toEqual([eq('a', '😀&=')]);
    expect(list('a=%EF%BB%BFx').where).toEqual([eq('a', '\ufeffx')]);
  });
  test('invalid percent-encoded UTF-8 is refused', () => {
    const bad = ['%E0%A4', '%zz', '%', '%4', '%ff', '%C0%80', '%ED%A0%80', '%F5%80%80%80', 'x%80'];
    for (const use of uses) {
      refuses(
        'validation_failed',
        bad.flatMap((text) => [`a=${text}`, `${text}=1`, `select=${text}`]),
        use,
      );
    }
  });
});

describe('select and sort', () => {
  test('columns, with aliases', () => {
    expect(list('select=a,createdAt:created_at').select).toEqual([
      { column: 'a', alias: 'a' },
      { column: 'created_at', alias: 'createdAt' },
    ]);
    expect(parseQuery('select=a%2Cb', 'one').select).toHaveLength(2);
  });
  test('empty items, invalid aliases and duplicate keys are refused', () => {
    refuses('validation_failed', [
      'select=',
      'select',
      'select=a,',
      'select=,a',
      'select=a,,b',
      'select=:a',
      'select=x:',
      'select=a,a',

      'select=x:a,x:b',
      'select=a:b,a',
      'select=__proto__:a',
      'select=a%20b:c',
      'select=%22:a',
      'select=1a:b',
    ]);
  });
  test('sort keys, descending with -', () => {
    expect(list('sort=-a,b').sort).toEqual([
      { column: 'a', descending: true },
      { column: 'b', descending: false },
    ]);
    expect(list('sort=a,b,c,d,e,f,g,h').sort).toHaveLength(8);
    refuses('validation_failed', [
      'sort=',
      'sort=-',
      'sort=a,',
      'sort=a,a',
      'sort=a,-a',
      'sort=a,b,c,d,e,f,g,h,i',
    ]);
  });
});

describe('paging', () => {
  test('page from 1, per_page from 1 to 200', () => {
    expect(list('page=1&per_page=200')).toMatchObject({ page: 1, perPage: 200 });
    expect(list('page=1000000000&per_page=1')).toMatchObject({ page: 1_000_000_000, perPage: 1 });
  });
  test('0, -1, fractions, exponents, words and too large numbers are refused', () => {
    const odd = [
      '',
      '0',
      '-1',
      '1.0',
      '1e3',
      'abc',
      '+1',
      '%201',
      '01',
      '1000000001',
      '99999999999999999999',
      '٣',
      'NaN',
    ];
    refuses(
      'validation_failed',
      odd.flatMap((text) => [`page=${text}`, `per_page=${text}`]),
    );
    refuses('validation_failed', ['per_page=201', 'page', 'per_page']);
  });
  test('a cursor cannot be combined with page', () => {
    expect(list('cursor=abc.def&per_page=10')).toMatchObject({ cursor: 'abc.def', perPage: 10, page: null });
    refuses('validation_failed', ['cursor=', 'cursor=x&page=1', 'page=1&cursor=x']);
  });
  test('repeated parameters are refused', () => {
    const pairs = ['select=a', 'sort=a', 'page=1', 'per_page=1', 'cursor=x'];
    refuses(
      'validation_failed',
      pairs.map((pair) => `${pair}&${pair}`),
    );
    refuses('validation_failed', ['count=exact&count=exact', 'page=1&b=2&p%61ge=1'], 'count');
    refuses('validation_failed', ['dry_run=false&dry_run=false', 'on_conflict=a&on_conflict=b'], 'insert');
  });
});

describe('parameters by endpoint', () => {
  test('a count accepts filters, its mode, select, sort and page', () => {
    for (const mode of ['exact', 'estimated', 'capped'] as const) {
      expect(parseQuery(`count=${mode}&a=1`, 'count')).toMatchObject({ count: mode, where: [eq('a', '1')] });
    }
    expect(refusal('select=a&sort=-a&page=2&per_page=5&filter=a=1', 'count')).toBeNull();
    refuses(
      'validation_failed',
      ['count=', 'count=all', 'per_page=201', 'page=0', 'sort=', 'select='],
      'count',
    );
    refuses('unknown_parameter', ['cursor=x', 'dry_run=true'], 'count');
    refuses('unknown_parameter', ['count=exact'], 'list');
  });
  test('one row accepts select only', () => {
    expect(parseQuery('select=a', 'one').select).toEqual([{ column: 'a', alias: 'a' }]);
    refuses(
      'unknown_parameter',
      ['a=1', 'filter=a=1', 'sort=a', 'or=(a.eq.1)', 'page=1', 'constructor=1'],
      'one',
    );
  });
  test('writes accept on_conflict and dry_run', () => {
    expect(parseQuery('on_conflict=sku&dry_run=true', 'insert')).toMatchObject({
      onConflict: 'sku',
      dryRun: true,
    });
    expect(parseQuery('dry_run=false', 'change').dryRun).toBe(false);
    refuses('validation_failed', ['dry_run=', 'dry_run=1', 'dry_run', 'on_conflict='], 'insert');
    refuses('unknown_parameter', ['a=1', 'select=a', 'filter=a=1', 'columns=a'], 'insert');
    refuses('unknown_parameter', ['on_conflict=a', 'a=1', 'select=a', '__proto__=1'], 'change');
  });
});

const words = [
  ...filterOps.map((op) => `${op}.`),

  'a',
  'orange',
  '=',
  '=',
  '=',
  '&',
  '&',
  '(',
  ')',
  ',',
  '"',
  '\\',
  '.',
  'not.',
  'not',
  'or',
  'and',
  'filter=',
  'sort=',

  'select=',
  'page=',
  'per_page=',
  'cursor=',
  'count=',
  'exact',
  '1',
  '200',
  '-',
  ':',
  '+',
  '%',
  '%20',
  '%E0%A4',
  '%00',
  'null',
  'true',
  '*',
  '__proto__',
  'constructor',
  '\0',
  '😀',
  '\ud800',
  ' ',
  'dry_run=',
  'on_conflict=',
];

describe('random input', () => {
  test('throws only errors with a code of the contract', () => {
    const search = fc.oneof(
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      fc.webQueryParameters(),
      fc.array(fc.constantFrom(...words)).map((each) => each.join('')),
    );
    fc.assert(
      fc.property(search, fc.constantFrom(...uses), (text, use) => {
        expect([null, 'validation_failed', 'unknown_parameter']).toContain(refusal(text, use));
      }),
      { numRuns: 2_000 },
    );
  });
  test('100,000 random queries are parsed within five seconds', () => {
    // A fixed seed makes failures reproducible.
    let seed = 20260102;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    const started = performance.now();
    const tally = { accepted: 0, refused: 0 };
    for (let run = 0; run < 100_000; run++) {
      let search = '';
      for (let length = 1 + random(12); length > 0; length--) search += words[random(words.length)];
      try {
        parseQuery(search, uses[random(uses.length)]!);
        tally.accepted++;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        tally.refused++;
      }
    }
    expect(performance.now() - started).toBeLessThan(patientMs(5_000));
    expect(tally.accepted).toBeGreaterThan(500);
    expect(tally.refused).toBeGreaterThan(10_000);
  });
});
