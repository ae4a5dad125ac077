import { describe, expect, test } from 'bun:test';
import type { ColumnType } from '@svc/contract/columns.ts';
import { presetRules } from '@svc/contract/table-rules.ts';
import { type DeclaredTables, planSchema } from './plan-schema.ts';
import { isExpanding, stepText } from './schema-steps.ts';
import type { ColumnRow, TableRow } from './store.ts';

const column = (name: string, type = 'int') => ({
  name,
  type: type as ColumnType,
  nullable: true,
  default: null,
});

function stored(name: string, columns: readonly ReturnType<typeof column>[]): TableRow {
  const rows = columns.map(
    ({ default: default_text, ...each }, at): ColumnRow => ({
      ...each,
      default_text,
      number: at + 1,
      role: 'plain',
      checks: null,
    }),
  );
  return {
    id: name,
    tenant_id: '',
    app_id: '',
    name,
    description: '',
    owner_column: null,
    rules: presetRules['read-only'],
    version: 1,
    columns_made: rows.length,
    changes: false,
    history_days: null,
    soft_delete_days: null,
    attributes_made: rows.length,
    created_by: '',
    created_at: new Date(0),
    updated_at: new Date(0),
    columns: rows,
    indexes: [],
  };
}

const texts = (tables: readonly TableRow[], declared: DeclaredTables) =>
  planSchema(tables, declared).map(stepText);

describe('the order of steps', () => {
  test('creates a table before those that refer to it', () => {
    const declared = {
      lines: { columns: [column('order', 'ref:orders')] },
      orders: { columns: [column('customer', 'ref:customers'), column('parent', 'ref:orders')] },
      customers: { columns: [column('name', 'text')] },
    };
    expect(texts([], declared)).toEqual([
      'create table customers',
      'create table orders',
      'create table lines',
    ]);
  });

  test('adds columns afterwards where tables refer to each other, and drops them first', () => {
    const a = [column('b', 'ref:b')];
    const b = [column('a', 'ref:a')];
    expect(texts([], { a: { columns: a }, b: { columns: b } })).toEqual([
      'create table a',
      'create table b',
      'add column a.b: ref:b:nullable',
    ]);
    expect(texts([stored('a', a), stored('b', b)], {})).toEqual([
      'drop column b.a',
      'drop table a',
      'drop table b',
    ]);
  });

  test('follows a renamed table in the columns that refer to it', () => {
    const tables = [stored('a', [column('b', 'ref:b')]), stored('b', [column('x')])];
    const declared = { a: { columns: [column('b', 'ref:c')] }, c: { was: 'b', columns: [column('x')] } };
    expect(texts(tables, declared)).toEqual(['rename table b to c']);
  });

  test('leaves what loses values, and the indexes that need it, to the end', () => {
    const steps = planSchema([stored('a', [column('x', 'text'), column('y')])], {
      a: { columns: [column('x', 'int'), column('z')], indexes: [{ columns: ['x'], unique: false }] },
    });
    expect(steps.map((step) => [stepText(step), isExpanding(step)])).toEqual([
      ['add column a.z: int:nullable', true],
      ['change column a.x from text:nullable to int:nullable', false],
      ['drop column a.y', false],
      ['add to a the index (x)', false],
    ]);
  });
});
