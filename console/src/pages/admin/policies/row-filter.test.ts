import { describe, expect, test } from 'bun:test';
import { parseRowFilter } from '@svc/contract/filter.ts';
import { filterOps } from '@svc/contract/rows.ts';
import {
  type FilterPart,
  filterError,
  formatFilter,
  newGroup,
  newTest,
  parseFilter,
  withOp,
} from './row-filter.ts';

function bare(part: FilterPart): unknown {
  if (part.kind === 'test') return [part.negated, part.column, part.op, ...part.values];
  return { [part.kind]: part.parts.map(bare), not: part.negated };
}

function again(text: string): string {
  const { root, fault } = parseFilter(text);
  if (root === null) throw new Error(fault);
  return formatFilter(root);
}

describe('a row filter', () => {
  test('is printed in the syntax of the row API', () => {
    const root = newGroup('and', [
      newTest({ column: 'region', values: ['eu'] }),
      newGroup('or', [
        newTest({ column: 'age', op: 'gt', values: ['9'] }),
        newGroup('and', [
          newTest({ column: 'name', op: 'in', values: ['a', 'b,c', 'd"e'] }),
          newTest({ column: 'gone_at', op: 'is', values: ['null'], negated: true }),
        ]),
      ]),
    ]);
    expect(formatFilter(root)).toBe(
      'region=eq.eu&or=(age.gt.9,and(name.in.(a,"b,c","d\\"e"),gone_at.not.is.null))',
    );
  });

  test('round-trips through its text', () => {
    const texts = [
      '',
      'region=eq.eu',
      'a=not.in.(1,2,"3,4")&b=between.(1,9)',
      'or=(a.eq.1,not.and(b.like.x*,c.is.true))',
      'not.or=(a.eq.1,b.eq.2)',
      'note=eq.100%25 %26 more %2B 1',
      'filter=First Name=eq.Ada',
      'a=eq.&b=has.(x',
      'or=(a.eq."x)y",b.sw.(z))',
    ];
    expect(texts.map((text) => again(again(text)))).toEqual(texts.map(again));
    for (const text of texts.slice(0, 7)) expect(again(text)).toBe(text);
  });

  test('a text without an operator is a value', () => {
    const { root } = parseFilter('host=in.example.com&mail=eu');
    expect(root).toBeNull();
    expect(bare(parseFilter('mail=eu')!.root!)).toEqual({
      and: [[false, 'mail', 'eq', 'eu']],
      not: false,
    });
  });

  test('an invalid text reports why', () => {
    const faultsOf = (text: string) => parseFilter(text).fault;
    expect(faultsOf('region')).toContain('column=op.value');
    expect(faultsOf('sort=a')).toContain('not a column');
    expect(faultsOf('or=(a.eq.1')).toContain('followed by');
    expect(faultsOf('or=(a)')).toContain('column.op.value');
    expect(faultsOf('or=(a.xx.1)')).toContain('operator');
    expect(faultsOf('a=is.maybe')).toContain('null');
    expect(faultsOf('a=between.(1)')).toContain('two values');
    expect(faultsOf('or=(a.eq."x)')).toContain('quoted');
    expect(faultsOf('a=eq.%E0%A4')).toContain('percent');
  });

  test('reports what is missing while incomplete', () => {
    expect(filterError(newGroup('and', []))).toBeNull();
    expect(filterError(newGroup('and', [newTest()]))).toContain('no column');
    expect(filterError(newGroup('and', [newGroup('or', [])]))).toContain('no condition');
    expect(filterError(newGroup('or', [newTest({ column: 'a.b' })]))).toContain('a.b');
    expect(filterError(newGroup('and', [newTest({ column: 'a', op: 'in', values: [] })]))).toContain('empty');
    const many = Array.from({ length: 51 }, () => newTest({ column: 'a' }));
    expect(filterError(newGroup('and', many))).toContain('50');
  });

  test('keeps fitting values when the operator changes', () => {
    const one = newTest({ column: 'a', values: ['1'] });
    expect(withOp(one, 'between').values).toEqual(['1', '']);
    expect(withOp(one, 'in').values).toEqual(['1']);
    expect(withOp(newTest(), 'in').values).toEqual([]);
    expect(withOp(one, 'is').values).toEqual(['null']);
    expect(withOp(withOp(one, 'between'), 'gt').values).toEqual(['1']);
  });
});

describe('the row API reads a printed filter', () => {
  const values = ['', 'x', 'a,b', '(', ')', '"', '\\', 'a&b=c', '100%', 'c++', 'not.eq.1', 'in.(1)', ' é#'];

  test('with each operator and each odd value as it was meant', () => {
    for (const op of filterOps) {
      for (const value of values) {
        for (const negated of [false, true]) {
          const given = withOp(newTest({ column: 'a', values: [value], negated }), op);
          if (op === 'between') given.values = [value || '0', value || '0'];
          if (op === 'in') given.values = [value, 'second'];
          const isPattern = op === 'like' || op === 'ilike';
          if (isPattern && value === '\\') continue;
          const operand = op === 'in' || op === 'between' ? given.values : given.values[0];
          const meant = { kind: 'test', column: 'a', negated, op, operand };
          const top = formatFilter(newGroup('and', [given]));
          const nested = formatFilter(newGroup('or', [given, newTest({ column: 'b', values: ['1'] })]));
          expect(parseRowFilter(top)).toEqual([meant] as never);
          expect(parseRowFilter(nested)[0]).toMatchObject({ kind: 'or', parts: [meant, {}] });
        }
      }
    }
  });
});
