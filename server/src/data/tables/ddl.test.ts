import { expect, test } from 'bun:test';
import { presetRules } from '@svc/contract/table-rules.ts';
import { addColumnSql, addIndexSql, createTableSql, dropTableSql } from './ddl.ts';
import type { ColumnRow, TableRow } from './store.ts';

const hostile = `x"'); drop table svc.users; --`;
const column = (number: number, rest: Partial<ColumnRow> = {}): ColumnRow => ({
  number,
  name: hostile,
  type: 'text',
  nullable: false,
  default_text: null,
  role: 'plain',
  ...rest,
});
const table: TableRow = {
  id: '00000000-0000-7000-8000-00000000000a',
  tenant_id: '00000000-0000-7000-8000-00000000000b',
  app_id: '00000000-0000-7000-8000-00000000000c',
  name: hostile,
  description: hostile,
  owner_column: null,
  changes: false,
  history_days: null,
  soft_delete_days: null,
  rules: presetRules['read-only'],
  version: 1,
  columns_made: 2,
  attributes_made: 2,
  created_by: '00000000-0000-7000-8000-00000000000d',
  created_at: new Date(0),
  updated_at: new Date(0),
  columns: [column(1, { type: 'bigint', role: 'id' }), column(2, { nullable: true, default_text: hostile })],
  indexes: [],
};
const schema = '"app_0000000000007000800000000000000c"';
const name = `${schema}."t_0000000000007000800000000000000a"`;

test('a table is created with generated names only', () => {
  expect(createTableSql(table, 'rows "role"').map(({ text }) => text)).toEqual([
    `create schema if not exists ${schema}`,
    `grant usage on schema ${schema} to "rows ""role"""`,
    `create table ${name} ("c1" int8 not null, "c2" text collate "C", "v" int8 not null, ` +
      'constraint "p_0000000000007000800000000000000a" primary key ("c1"))',
    `grant select, insert, update, delete on ${name} to "rows ""role"""`,
    `create sequence ${schema}."s_0000000000007000800000000000000a" as int8`,
    `grant usage, select, update on sequence ${schema}."s_0000000000007000800000000000000a" to "rows ""role"""`,
  ]);
});

test('the default of a new column is a constant without the characters of the user', () => {
  const add = `alter table ${name} drop column if exists "c3", add column "c3"`;
  const drop = { text: `alter table ${name} alter column "c3" drop default` };
  const coded = [...hostile].map((char) => `\\+0000${char.charCodeAt(0).toString(16)}`).join('');
  expect(addColumnSql(table, column(3, { default_text: hostile }))).toEqual([
    { text: `${add} text collate "C" not null default U&'${coded}'::text` },
    drop,
  ]);
  expect(
    addColumnSql(table, column(3, { type: 'timestamptz', nullable: true, default_text: 'now()' })),
  ).toEqual([{ text: `${add} timestamptz default now()` }, drop]);
  expect(addColumnSql(table, column(3, { nullable: true }))).toEqual([{ text: `${add} text collate "C"` }]);
});

test('no statement contains user input', () => {
  const indexId = '00000000-0000-7000-8000-00000000000e';
  const statements = [
    ...createTableSql(table, null),
    ...dropTableSql(table),
    ...table.columns.slice(1).flatMap((it) => addColumnSql(table, it)),
    ...addIndexSql(table, indexId, { keys: [2, 1], method: 'btree', isUnique: false }),
  ];
  for (const { text } of statements) expect(text).not.toContain('drop table svc');
});
