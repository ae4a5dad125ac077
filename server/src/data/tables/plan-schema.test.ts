import { describe, expect, test } from 'bun:test';
import { type DeleteAction, refTarget } from '@svc/contract/column-families.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import { presetRules } from '@svc/contract/table-rules.ts';
import { type DeclaredTables, planSchema } from './plan-schema.ts';
import { type DeclaredIndex, isDestructive, isExpanding, stepText } from './schema-steps.ts';
import type { ColumnRow, TableRow } from './store.ts';

const column = (name: string, type = 'int', on_delete: DeleteAction = 'restrict') => ({
  name,
  type: type as ColumnType,
  nullable: true,
  default: null,
  ...(refTarget(type) !== null && { on_delete }),
});

function stored(name: string, columns: readonly ReturnType<typeof column>[]): TableRow {
  const rows = columns.map(({ default: default_text, ...each }, at): ColumnRow => {
    const target = refTarget(each.type);
    return {
      ...each,
      default_text,
      number: at + 1,
      role: each.name === 'id' ? 'id' : 'plain',
      checks: null,
      ...(target !== null && { type: 'uuid', ref_table: target, target: { name: target, id_number: 1 } }),
    };
  });
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
      'create table b',
      'create table a',
      'add column b.a: ref:a:nullable',
    ]);
    expect(planSchema([stored('a', a), stored('b', b)], {})).toEqual([
      { kind: 'drop_table', table: 'a', unlink: [{ table: 'b', column: 'a', type: 'uuid' }] },
      { kind: 'drop_table', table: 'b' },
    ]);
  });

  test('follows a renamed table in the columns that refer to it', () => {
    const tables = [stored('a', [column('b', 'ref:b')]), stored('b', [column('x')])];
    const declared = { a: { columns: [column('b', 'ref:c')] }, c: { was: 'b', columns: [column('x')] } };
    expect(texts(tables, declared)).toEqual(['rename table b to c']);
  });

  test('changes references: what happens on a deletion, their table, and columns to and from them', () => {
    const ids = { ...column('id', 'bigint'), nullable: false };
    const tables = [stored('a', [column('x', 'ref:b')]), stored('b', []), stored('c', [ids])];
    const to = (x: ReturnType<typeof column>) =>
      planSchema(tables, { a: { columns: [x] } })
        .filter(({ table, kind }) => table === 'a' && kind !== 'drop_index')
        .map((step) => [stepText(step), isDestructive(step), isExpanding(step)]);
    expect(to(column('x', 'ref:b'))).toEqual([]);
    expect(to(column('x', 'ref:b', 'cascade'))).toEqual([
      ['change column a.x from ref:b:nullable to ref:b:nullable(on_delete=cascade)', false, true],
    ]);
    expect(to(column('x', 'uuid'))).toEqual([
      ['change column a.x from ref:b:nullable to uuid:nullable', false, true],
    ]);
    expect(to(column('x', 'text'))).toEqual([
      ['change column a.x from ref:b:nullable to text:nullable', false, true],
    ]);
    expect(to(column('x', 'ref:c'))).toEqual([
      ['change column a.x from ref:b:nullable to bigint:nullable', true, false],
      ['change column a.x from bigint:nullable to ref:c:nullable', false, false],
    ]);
  });

  test('knows the index that a reference has by itself, also where another takes its name', () => {
    const refs = { a: { columns: [column('b', 'ref:b')] }, b: {} };
    expect(texts([], refs)).toEqual(['create table b', 'create table a']);
    const withIndexes = (...indexes: DeclaredIndex[]) =>
      texts([], { ...refs, a: { ...refs.a, indexes } }).slice(2);
    expect(withIndexes({ columns: ['b'], unique: false })).toEqual([]);
    expect(withIndexes({ name: 'b_idx', columns: ['b'], unique: false })).toEqual([]);
    expect(withIndexes({ name: 'by_b', columns: ['b'], unique: false })).toEqual(['add to a the index (b)']);
    expect(withIndexes({ name: 'b_idx', columns: ['b', 'id'], unique: false })).toEqual([
      'replace in a the index (b) b_idx by the index (b, id)',
    ]);
  });

  test('sets options that the file names; a shorter time is destructive and comes last', () => {
    const table = { ...stored('a', []), history_days: 30, soft_delete_days: 7, changes: true };
    expect(texts([table], { a: {} })).toEqual([]);
    expect(texts([table], { a: { history: '30d', soft_delete: '7d', changes: true } })).toEqual([]);
    const steps = planSchema([table], {
      a: { description: 'x', changes: false, history: '90d', soft_delete: null },
    });
    expect(steps.map((step) => [stepText(step), isDestructive(step), isExpanding(step)])).toEqual([
      ['set the description, changes=false, history=90d of a', false, true],
      ['set soft_delete=none of a', true, false],
    ]);
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
