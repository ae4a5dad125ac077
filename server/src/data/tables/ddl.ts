import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import pg from 'pg';
import {
  physicalColumnName,
  physicalIndexName,
  physicalSchemaName,
  physicalSequenceName,
  physicalTableName,
  versionColumn,
} from './catalogue.ts';
import type { IndexPlan } from './rules.ts';
import type { ColumnRow, TableRow } from './store.ts';
import { columnDefault } from './values.ts';

/** `text` contains generated names only; user input is in `values`. */
export interface Statement {
  text: string;
  values?: readonly string[];
}

const ident = pg.escapeIdentifier;
export type TableId = Pick<TableRow, 'id' | 'app_id'>;

const declaredType = (type: ColumnType) => {
  const { sql, declaration = sql } = describeColumnType(type);
  return declaration;
};

export const qualifiedTable = (table: TableId): string => inSchema(table, physicalTableName(table.id));

export function createTableSql(table: TableRow, role: string | null): Statement[] {
  const schema = ident(physicalSchemaName(table.app_id));
  return [
    { text: `create schema if not exists ${schema}` },
    ...grantSql(`usage on schema ${schema}`, role),
    ...physicalTableSql(table, (name) => name, role),
    ...sequenceSql(table, role),
  ];
}

export function dropTableSql(table: TableId): Statement[] {
  return [
    { text: `drop table if exists ${qualifiedTable(table)}` },
    { text: `drop sequence if exists ${inSchema(table, physicalSequenceName(table.id))}` },
  ];
}

export function dropSchemaSql(appId: string): Statement[] {
  return [{ text: `drop schema if exists ${ident(physicalSchemaName(appId))} cascade` }];
}

/**
 * `current_setting` is evaluated once, so PostgreSQL does not rewrite the table. The row path writes later
 * defaults.
 */
export function addColumnSql(table: TableId, column: ColumnRow): Statement[] {
  const on = `alter table ${qualifiedTable(table)}`;
  const name = ident(physicalColumnName(column.number));
  const declared = `${name} ${declaredType(column.type)}${column.nullable ? '' : ' not null'}`;
  // A separate data server may already have the column, from a change whose commit failed on the control server.
  const add = `${on} drop column if exists ${name}, add column ${declared}`;
  const value = columnDefault(column);
  if (!value) return [{ text: add }];
  const drop = { text: `${on} alter column ${name} drop default` };
  switch (value.kind) {
    case 'literal':
      return [
        { text: `select set_config('svc.column_default', $1, true)`, values: [value.text] },
        {
          text: `${add} default (current_setting('svc.column_default')::${describeColumnType(column.type).sql})`,
        },
        drop,
      ];
    case 'now':
      return [{ text: `${add} default now()` }, drop];
    case 'random_uuid':
      return [{ text: `${add} default gen_random_uuid()` }, drop];
    case 'uuid_v7':
    case 'sequence':
      throw new Error('The id column is created with its table.');
  }
}

export function setNullableSql(table: TableId, column: Pick<ColumnRow, 'number' | 'nullable'>): Statement[] {
  const change = column.nullable ? 'drop' : 'set';
  const name = ident(physicalColumnName(column.number));
  return [{ text: `alter table ${qualifiedTable(table)} alter column ${name} ${change} not null` }];
}

export function dropColumnSql(table: TableId, number: number): Statement[] {
  return [
    {
      text: `alter table ${qualifiedTable(table)} drop column if exists ${ident(physicalColumnName(number))}`,
    },
  ];
}

export function addIndexSql(table: TableId, indexId: string, plan: IndexPlan): Statement[] {
  return [{ text: createIndexSql(qualifiedTable(table), physicalIndexName(indexId), plan) }];
}

export function dropIndexSql(table: TableId, indexId: string): Statement[] {
  return [{ text: `drop index if exists ${inSchema(table, physicalIndexName(indexId))}` }];
}

export function copyTableSql(
  table: TableRow,
  indexes: readonly { id: string; plan: IndexPlan }[],
  role: string | null,
): Statement[] {
  const copy = inSchema(table, copyName(physicalTableName(table.id)));
  const names = [...table.columns.map((column) => physicalColumnName(column.number)), versionColumn]
    .map(ident)
    .join(', ');
  return [
    ...physicalTableSql(table, copyName, role),
    { text: `insert into ${copy} (${names}) select ${names} from ${qualifiedTable(table)}` },
    ...indexes.map(({ id, plan }) => ({ text: createIndexSql(copy, copyName(physicalIndexName(id)), plan) })),
  ];
}

export function swapTableSql(table: TableRow): Statement[] {
  const rename = (kind: 'table' | 'index', name: string) => ({
    text: `alter ${kind} ${inSchema(table, copyName(name))} rename to ${ident(name)}`,
  });
  return [
    { text: `drop table ${qualifiedTable(table)}` },
    rename('table', physicalTableName(table.id)),
    rename('index', primaryKeyName(table.id)),
    ...table.indexes.map((index) => rename('index', physicalIndexName(index.id))),
  ];
}

function physicalTableSql(
  table: TableRow,
  rename: (name: string) => string,
  role: string | null,
): Statement[] {
  const target = inSchema(table, rename(physicalTableName(table.id)));
  const id = table.columns.find((column) => column.role === 'id');
  const lines = [
    ...table.columns.map(
      ({ number, type, nullable }) =>
        `${ident(physicalColumnName(number))} ${declaredType(type)}${nullable ? '' : ' not null'}`,
    ),
    `${ident(versionColumn)} int8 not null`,
    `constraint ${ident(rename(primaryKeyName(table.id)))} primary key (${ident(physicalColumnName(id?.number ?? 0))})`,
  ];
  return [
    { text: `create table ${target} (${lines.join(', ')})` },
    ...grantSql(`select, insert, update, delete on ${target}`, role),
  ];
}

function sequenceSql(table: TableRow, role: string | null): Statement[] {
  const id = table.columns.find((column) => column.role === 'id');
  if (!id || columnDefault(id)?.kind !== 'sequence') return [];
  const sequence = inSchema(table, physicalSequenceName(table.id));
  return [
    { text: `create sequence ${sequence} as ${declaredType(id.type)}` },
    ...grantSql(`usage, select, update on sequence ${sequence}`, role),
  ];
}

const grantSql = (rights: string, role: string | null): Statement[] =>
  role === null ? [] : [{ text: `grant ${rights} to ${ident(role)}` }];

function createIndexSql(table: string, name: string, plan: IndexPlan): string {
  const keys = plan.keys.map((number) => ident(physicalColumnName(number))).join(', ');
  const on = plan.method === 'gin' ? `using gin (${keys} jsonb_path_ops)` : `(${keys})`;
  return `create ${plan.isUnique ? 'unique ' : ''}index ${ident(name)} on ${table} ${on}`;
}

const inSchema = (table: Pick<TableId, 'app_id'>, name: string) =>
  `${ident(physicalSchemaName(table.app_id))}.${ident(name)}`;
const primaryKeyName = (tableId: string) => `p_${tableId.replaceAll('-', '')}`;
const copyName = (name: string) => `n${name}`;
