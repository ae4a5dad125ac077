import { expect, test } from 'bun:test';
import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import { CompiledQuery } from 'kysely';
import { useTestDatabase } from '../../testing.ts';
import { hashKeys, type Mask, maskedType, maskProblem, maskSql } from './masks.ts';

const database = useTestDatabase();
const keys = hashKeys(new Uint8Array(32));

async function masked(mask: Mask, type: ColumnType, value: string): Promise<string | null> {
  const values: string[] = [];
  const bind = (text: string, sqlType: string) => `$${values.push(text)}::${sqlType}`;
  const { sql } = describeColumnType(type);
  const from = `(select ${bind(value, sql)} as v) row`;
  const text = maskSql(mask, 'v', { type, keys, bind });
  const shown = `((${text})::${describeColumnType(maskedType(mask, type)).sql})::text`;
  const { rows } = await database.db.executeQuery<{ value: string | null }>(
    CompiledQuery.raw(`select ${shown} as value from ${from}`, values),
  );
  return rows[0]?.value ?? null;
}

test.each<[Mask['kind'], Mask['args'], ColumnType, string, string | null]>([
  ['round', { to: 10 }, 'decimal(5,2)', '123.45', '120.00'],
  ['round', { to: 1000 }, 'decimal(5,2)', '999.99', '1000.00'],
  ['round', { to: 0.5 }, 'decimal(5,2)', '-1.30', '-1.50'],
  ['round', { to: 10 }, 'autonumber', '16', '20'],
  ['constant', { value: '0' }, 'decimal(12,2)', '123.45', '0.00'],
  ['constant', { value: 'paid' }, 'enum(open,paid)', 'open', 'paid'],
  ['constant', { value: '["x"]' }, 'text[]', '{a,b}', '{x}'],
  ['constant', { value: '[]' }, 'int[]', '{1}', '{}'],
  ['null', {}, 'text[]', '{a}', null],
  ['round', { to: 100 }, 'float', '149', '100'],
  ['round', { to: 1e-10 }, 'float', '1e299', null],
  ['round', { to: 1e9 }, 'float', '-5e-324', '0'],
  ['email', {}, 'text', 'ada@example.com', 'a•••@example.com'],
  ['email', {}, 'text', '@ada@social.example', '@xxx@xxxxxx.xxxxxxx'],
  ['email', {}, 'text', 'ada@example.com, pin 1234', 'xxx@xxxxxxx.xxx, xxx 0000'],
  ['email', {}, 'text', 'Ada', 'xxx'],
])('the mask %s %j of %s', async (kind, args, type, value, expected) => {
  const mask = { kind, args };
  expect(maskProblem(mask, type)).toBeNull();
  expect(await masked(mask, type, value)).toBe(expected);
});

test('a hash of a decimal, an enum and a list is a text', async () => {
  const mask: Mask = { kind: 'hash', args: {} };
  for (const [type, value] of [
    ['decimal(5,2)', '1.50'],
    ['enum(a,b)', 'a'],
    ['text[]', '{a,b}'],
  ] as const)
    expect(await masked(mask, type, value)).toMatch(/^[0-9a-f]{64}$/);
});

test.each<[Mask['kind'], Mask['args'], ColumnType]>([
  ['round', { to: 10 }, 'text[]'],
  ['redact', {}, 'enum(a,b)'],
  ['partial', { first: 1 }, 'text[]'],
  ['constant', { value: 'c' }, 'enum(a,b)'],
  ['constant', { value: '1.505' }, 'decimal(5,2)'],
  ['constant', { value: 'a' }, 'text[]'],
])('the mask %s %j does not fit %s', (kind, args, type) => {
  expect(maskProblem({ kind, args }, type)).toBeString();
});
