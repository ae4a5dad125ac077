import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ColumnChecks } from './column-checks.ts';
import { type ColumnSpec, columnSpecText, parseColumnSpec } from './column-spec.ts';
import { type ColumnType, columnTypes } from './columns.ts';

const spec = (name: string, type: string, rest: Partial<ColumnSpec> = {}) => ({
  name,
  type,
  nullable: false,
  default: null,
  ...rest,
});

describe('a column spec', () => {
  test.each<[string, object]>([
    ['a:text', spec('a', 'text')],
    ['a:int:nullable', spec('a', 'int', { nullable: true })],
    ['a:int:5', spec('a', 'int', { default: '5' })],
    ['a:int:nullable:5', spec('a', 'int', { nullable: true, default: '5' })],
    ['a:timestamptz:now()', spec('a', 'timestamptz', { default: 'now()' })],
    ['a:timestamptz:2026-01-31T12:00:00Z', spec('a', 'timestamptz', { default: '2026-01-31T12:00:00Z' })],
    ['a:text:nullable:nullable', spec('a', 'text', { nullable: true, default: 'nullable' })],
    ['a:text:nullable:', spec('a', 'text', { nullable: true, default: '' })],
    ['a:text:', spec('a', 'text', { default: '' })],
    ['a:text::', spec('a', 'text', { default: ':' })],
    ['a:text:Nullable', spec('a', 'text', { default: 'Nullable' })],
    ['a:text:nullable ', spec('a', 'text', { default: 'nullable ' })],
    ['a:text:x:nullable', spec('a', 'text', { default: 'x:nullable' })],
    [
      `a:text:it's "so", a::b; drop table x --`,
      spec('a', 'text', { default: `it's "so", a::b; drop table x --` }),
    ],
    ['a:jsonb:{"b":[1,":"]}', spec('a', 'jsonb', { default: '{"b":[1,":"]}' })],
    [':text', spec('', 'text')],
    ['a:decimal(12,2)', spec('a', 'decimal(12,2)')],
    ['a:decimal(12, 2):nullable:1.50', spec('a', 'decimal(12,2)', { nullable: true, default: '1.50' })],
    ['a:enum(open,in work):open', spec('a', 'enum(open,in work)', { default: 'open' })],
    ['a:text[]:["a:b"]', spec('a', 'text[]', { default: '["a:b"]' })],
    ['a:int(min=0,max=9):nullable', spec('a', 'int', { nullable: true, checks: { min: '0', max: '9' } })],
    [
      'a:timestamptz(min=2026-01-01T00:00:00Z):now()',
      spec('a', 'timestamptz', { default: 'now()', checks: { min: '2026-01-01T00:00:00Z' } }),
    ],
    [
      'a:text(max_length=3,pattern="^(a|b),:\\d$"):x',
      spec('a', 'text', { default: 'x', checks: { max_length: 3, pattern: '^(a|b),:\\d$' } }),
    ],
    ['a:decimal(5,1,min=-1)', spec('a', 'decimal(5,1)', { checks: { min: '-1.0' } })],
  ])('%s', (text, expected) => {
    expect(parseColumnSpec(text)).toEqual(expected as ColumnSpec);
  });

  test.each([
    'a:decimal',
    'a:decimal(1)',
    'a:decimal(2,3)',
    'a:enum()',
    'a:enum(a,,b)',
    "a:enum(a'b)",
    'a:enum(a,a)',
    'a:int(5)',
    'a:int(min=x)',
    'a:int(low=1)',
    'a:int(min=0',
    'a:int(min=0)x',
    'a:uuid(min=0)',
    'a:text(pattern="(a)\\\\1")',
  ])('%p is refused with a reason', (text) => {
    expect(parseColumnSpec(text)).toBeString();
  });

  test.each(['', 'a', 'a:', 'a:TEXT', 'a: text', 'a:varchar', 'a:constructor', 'a:__proto__', ':', '::'])(
    '%p is refused with a reason',
    (text) => {
      expect(parseColumnSpec(text)).toBeString();
    },
  );
});

const name = fc.string().filter((text) => !text.includes(':'));
const type = fc.constantFrom<ColumnType>(...columnTypes, 'decimal(12,2)', 'enum(open,in work)');
const anyChecks = fc.constantFrom<ColumnChecks | undefined>(undefined, {
  max_length: 3,
  pattern: '^["),:\\\\]*$',
});
const anyText = fc.string({ unit: 'binary' });

describe('of any text', () => {
  test('never throws', () => {
    fc.assert(
      fc.property(anyText, (text) => void parseColumnSpec(text)),
      { numRuns: 20_000 },
    );
  });

  test('only the first three colons split: what follows nullable is the default, whatever it is', () => {
    fc.assert(
      fc.property(name, type, anyText, (name, type, text) => {
        expect(parseColumnSpec(`${name}:${type}:nullable:${text}`)).toEqual({
          name,
          type,
          nullable: true,
          default: text,
        });
      }),
    );
  });

  test('a third part that is not nullable is the default with all that follows it', () => {
    fc.assert(
      fc.property(name, type, anyText, (name, type, text) => {
        fc.pre(text !== 'nullable' && !text.startsWith('nullable:'));
        expect(parseColumnSpec(`${name}:${type}:${text}`)).toEqual({
          name,
          type,
          nullable: false,
          default: text,
        });
      }),
    );
  });

  test('what is written out is read back, but for a default that looks like nullable', () => {
    const anyDefault = fc.option(anyText);
    fc.assert(
      fc.property(name, type, fc.boolean(), anyDefault, (name, type, nullable, text) => {
        fc.pre(nullable || !/^nullable(:|$)/.test(text ?? ''));
        const column: ColumnSpec = { name, type, nullable, default: text };
        expect(parseColumnSpec(columnSpecText(column))).toEqual(column);
      }),
    );
  });

  test('checks are read back too', () => {
    fc.assert(
      fc.property(name, anyChecks, fc.option(anyText), (name, checks, text) => {
        const column: ColumnSpec = {
          name,
          type: 'text',
          nullable: true,
          default: text,
          ...(checks && { checks }),
        };
        expect(parseColumnSpec(columnSpecText(column))).toEqual(column);
      }),
    );
  });
});
