import type { ColumnType } from '@svc/contract/columns.ts';
import pg from 'pg';
import { columnOf, indexOf, schemaOf, sequenceOf, tableOf, versionColumn } from './catalogue.ts';
import { defaultOf } from './column-default.ts';
import type { IndexPlan } from './rules.ts';
import type { ColumnRow, TableRow } from './store.ts';

/** One statement. Its text holds names of ours alone; what a user wrote is a value beside it. */
export interface Statement {
  text: string;
  values?: readonly string[];
}

const ident = pg.escapeIdentifier;
type Place = Pick<TableRow, 'id' | 'app_id'>;

/** Texts compare by their bytes, so that order and ranges are the same on every machine. */
const physicalTypes: Record<ColumnType, string> = {
  text: 'text collate "C"',
  int: 'int4',
  bigint: 'int8',
  float: 'float8',
  bool: 'bool',
  timestamptz: 'timestamptz',
  uuid: 'uuid',
  jsonb: 'jsonb',
};

export const physicalTable = (table: Place): string => inSchema(table, tableOf(table.id));

export function createTableSql(table: TableRow, role: string | null): Statement[] {
  const schema = ident(schemaOf(table.app_id));
  return [
    { text: `create schema if not exists ${schema}` },
    ...(role === null ? [] : [{ text: `grant usage on schema ${schema} to ${ident(role)}` }]),
    ...physicalTableSql(table, tableOf(table.id), primaryKeyOf(table.id), role),
    ...sequenceSql(table, role),
  ];
}

export function dropTableSql(table: Place): Statement[] {
  return [
    { text: `drop table if exists ${physicalTable(table)}` },
    { text: `drop sequence if exists ${inSchema(table, sequenceOf(table.id))}` },
  ];
}

/** Whatever is in it, as far as anything is. */
export function dropSchemaSql(appId: string): Statement[] {
  return [{ text: `drop schema if exists ${ident(schemaOf(appId))} cascade` }];
}

/**
 * With a default, rows that are there get it at once: a setting is read once for the whole table, which is therefore
 * not rewritten. The default goes again, since new rows get theirs from the one who writes them.
 */
export function addColumnSql(table: Place, column: ColumnRow): Statement[] {
  const on = `alter table ${physicalTable(table)}`;
  const name = ident(columnOf(column.number));
  const declared = `${name} ${physicalTypes[column.type]}${column.nullable ? '' : ' not null'}`;
  // Where rows live on another server, that one may have done it already while this one failed.
  const add = `${on} drop column if exists ${name}, add column ${declared}`;
  const value = defaultOf(column);
  if (!value) return [{ text: add }];
  const drop = { text: `${on} alter column ${name} drop default` };
  switch (value.kind) {
    case 'literal':
      return [
        { text: `select set_config('svc.column_default', $1, true)`, values: [value.text] },
        { text: `${add} default (current_setting('svc.column_default')::${castTypes(column.type)})` },
        drop,
      ];
    case 'now':
      return [{ text: `${add} default now()` }, drop];
    case 'random_uuid':
      return [{ text: `${add} default gen_random_uuid()` }, drop];
    case 'uuid_v7':
    case 'sequence':
      throw new Error('An id is made with its table.');
  }
}

export function setNullableSql(table: Place, column: Pick<ColumnRow, 'number' | 'nullable'>): Statement[] {
  const change = column.nullable ? 'drop' : 'set';
  const name = ident(columnOf(column.number));
  return [{ text: `alter table ${physicalTable(table)} alter column ${name} ${change} not null` }];
}

/** Its indexes go with it. */
export function dropColumnSql(table: Place, number: number): Statement[] {
  return [{ text: `alter table ${physicalTable(table)} drop column if exists ${ident(columnOf(number))}` }];
}

export function addIndexSql(table: Place, indexId: string, plan: IndexPlan): Statement[] {
  return [{ text: createIndex(physicalTable(table), indexOf(indexId), plan) }];
}

export function dropIndexSql(table: Place, indexId: string): Statement[] {
  return [{ text: `drop index if exists ${inSchema(table, indexOf(indexId))}` }];
}

/** A copy of the table without the traces of columns that were dropped, to be put in its place. */
export function copyTableSql(
  table: TableRow,
  indexes: readonly { id: string; plan: IndexPlan }[],
  role: string | null,
): Statement[] {
  const copy = inSchema(table, copyOf(tableOf(table.id)));
  const names = [...table.columns.map((column) => columnOf(column.number)), versionColumn]
    .map(ident)
    .join(', ');
  const [create, ...rights] = physicalTableSql(
    table,
    copyOf(tableOf(table.id)),
    copyOf(primaryKeyOf(table.id)),
    role,
  );
  return [
    ...(create ? [create] : []),
    ...rights,
    { text: `insert into ${copy} (${names}) select ${names} from ${physicalTable(table)}` },
    ...indexes.map(({ id, plan }) => ({ text: createIndex(copy, copyOf(indexOf(id)), plan) })),
  ];
}

export function swapTableSql(table: TableRow): Statement[] {
  const rename = (kind: 'table' | 'index', name: string) => ({
    text: `alter ${kind} ${inSchema(table, copyOf(name))} rename to ${ident(name)}`,
  });
  return [
    { text: `drop table ${physicalTable(table)}` },
    rename('table', tableOf(table.id)),
    rename('index', primaryKeyOf(table.id)),
    ...table.indexes.map((index) => rename('index', indexOf(index.id))),
  ];
}

function physicalTableSql(
  table: TableRow,
  name: string,
  primaryKey: string,
  role: string | null,
): Statement[] {
  const place = inSchema(table, name);
  const id = table.columns.find((column) => column.role === 'id');
  const lines = [
    ...table.columns.map(
      ({ number, type, nullable }) =>
        `${ident(columnOf(number))} ${physicalTypes[type]}${nullable ? '' : ' not null'}`,
    ),
    `${ident(versionColumn)} int8 not null`,
    `constraint ${ident(primaryKey)} primary key (${ident(columnOf(id?.number ?? 0))})`,
  ];
  return [
    { text: `create table ${place} (${lines.join(', ')})` },
    ...(role === null
      ? []
      : [{ text: `grant select, insert, update, delete on ${place} to ${ident(role)}` }]),
  ];
}

function sequenceSql(table: TableRow, role: string | null): Statement[] {
  const id = table.columns.find((column) => column.role === 'id');
  if (!id || defaultOf(id)?.kind !== 'sequence') return [];
  const sequence = inSchema(table, sequenceOf(table.id));
  return [
    { text: `create sequence ${sequence} as ${physicalTypes[id.type]}` },
    ...(role === null
      ? []
      : [{ text: `grant usage, select, update on sequence ${sequence} to ${ident(role)}` }]),
  ];
}

function createIndex(place: string, name: string, plan: IndexPlan): string {
  const keys = plan.keys.map((number) => ident(columnOf(number))).join(', ');
  const on = plan.method === 'gin' ? `using gin (${keys} jsonb_path_ops)` : `(${keys})`;
  return `create ${plan.isUnique ? 'unique ' : ''}index ${ident(name)} on ${place} ${on}`;
}

/** A cast has no place for the collation, which is the column's. */
const castTypes = (type: ColumnType) => (type === 'text' ? 'text' : physicalTypes[type]);
const inSchema = (table: Pick<Place, 'app_id'>, name: string) =>
  `${ident(schemaOf(table.app_id))}.${ident(name)}`;
const primaryKeyOf = (tableId: string) => `p_${tableId.replaceAll('-', '')}`;
const copyOf = (name: string) => `n${name}`;
