import { checkNames, patternOf } from '@svc/contract/column-checks.ts';
import { enumValues } from '@svc/contract/column-families.ts';
import { type ColumnType, describeColumnType, isArrayType } from '@svc/contract/columns.ts';
import { isFileType } from '@svc/contract/file-type.ts';
import { searchedCharsMax, searchLanguages } from '@svc/contract/search.ts';
import { typeChangeProblem } from '@svc/contract/type-changes.ts';
import pg from 'pg';
import {
  inSchema,
  physicalCheckName,
  physicalColumnName,
  physicalIndexName,
  physicalSchemaName,
  physicalSequenceName,
  physicalTableName,
  physicalVectorName,
  qualifiedTable,
  type TableId,
  versionColumn,
} from './catalogue.ts';
import { createLogSql, createTriggersSql, dropLogSql, isLogged, refuseOnCitusSql } from './change-log.ts';
import { addForeignKeySql, addKeySql, dropForeignKeySql, dropKeySql } from './references-ddl.ts';
import type { IndexPlan } from './rules.ts';
import type { ColumnRow, TableRow } from './store.ts';
import { columnDefault } from './values.ts';

/** `text` contains generated names only; user input is in `values`. */
export interface Statement {
  text: string;
  values?: readonly string[];
}

const ident = pg.escapeIdentifier;
const literal = pg.escapeLiteral;

const declaredType = (type: ColumnType) => {
  const { sql, declaration = sql } = describeColumnType(type);
  return declaration;
};

export function languageSql(language: string): string {
  if (!searchLanguages.includes(language)) throw new Error(`${language} is not a language of searches.`);
  return `${literal(`pg_catalog.${language}`)}::regconfig`;
}

export function createTableSql(table: TableRow, role: string | null): Statement[] {
  const schema = ident(physicalSchemaName(table.app_id));
  return [
    { text: `create schema if not exists ${schema}` },
    ...grantSql(`usage on schema ${schema}`, role),
    ...physicalTableSql(table, (name) => name, role),
    ...sequenceSql(table, role),
    ...(isLogged(table) ? createLogSql(table, role) : []),
  ];
}

export function dropTableSql(table: TableId): Statement[] {
  return [
    { text: `drop table if exists ${qualifiedTable(table)}` },
    { text: `drop sequence if exists ${inSchema(table, physicalSequenceName(table.id))}` },
    ...dropLogSql(table),
  ];
}

export function dropSchemaSql(appId: string): Statement[] {
  return [{ text: `drop schema if exists ${ident(physicalSchemaName(appId))} cascade` }];
}

/** A constant is evaluated once, so PostgreSQL does not rewrite the table. The row path writes later defaults. */
export function addColumnSql(table: TableId, column: ColumnRow): Statement[] {
  const on = `alter table ${qualifiedTable(table)}`;
  const name = ident(physicalColumnName(column.number));
  const declared = `${name} ${declaredType(column.type)}${column.nullable ? '' : ' not null'}`;
  // A second database may have the column already, from an interrupted change of an earlier version.
  const add = `${on} drop column if exists ${name}, add column ${declared}`;
  const value = columnDefault(column);
  // The default was checked, so that no row needs to be.
  const checks = [...addChecksSql(table, column), ...fileColumnSql(qualifiedTable(table), column)];
  if (!value) return [{ text: add }, ...checks];
  const drop = { text: `${on} alter column ${name} drop default` };
  switch (value.kind) {
    case 'literal':
      // Not a setting of the session, which the workers of Citus do not have.
      return [
        { text: `${add} default ${codedLiteral(value.text)}::${describeColumnType(column.type).sql}` },
        drop,
        ...checks,
      ];
    case 'now':
      return [{ text: `${add} default now()` }, drop, ...checks];
    case 'random_uuid':
      return [{ text: `${add} default gen_random_uuid()` }, drop, ...checks];
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

export interface PhysicalCheck {
  name: string;
  condition: string;
}

type CheckedColumn = Pick<ColumnRow, 'number' | 'type' | 'checks'>;

/** Texts of people are not in statements as they are, like in `values`, which definitions cannot have. */
export const codedLiteral = (text: string) =>
  `U&'${[...text].map((char) => `\\+${(char.codePointAt(0) ?? 0).toString(16).padStart(6, '0')}`).join('')}'`;

/** The row path checks first and gives the reasons; these hold for a server that does not know of a check yet. */
export function physicalChecks({ number, type, checks }: CheckedColumn): PhysicalCheck[] {
  const name = ident(physicalColumnName(number));
  const { sql } = describeColumnType(type);
  const length = `${isArrayType(type) ? 'cardinality' : 'char_length'}(${name})`;
  const { min, max, min_length, max_length, pattern } = checks ?? {};
  const conditions = {
    min: min === undefined ? null : `${name} >= ${codedLiteral(min)}::${sql}`,
    max: max === undefined ? null : `${name} <= ${codedLiteral(max)}::${sql}`,
    min_length: min_length === undefined ? null : `${length} >= ${Number(min_length)}`,
    max_length: max_length === undefined ? null : `${length} <= ${Number(max_length)}`,
    pattern: pattern === undefined ? null : `${name} ~ ${literal(patternOf(pattern).sql)}`,
    enum: enumValues(type) && `${name} in (${enumValues(type)?.map(codedLiteral).join(', ')})`,
  };
  return Object.entries(conditions).flatMap(([check, condition]) =>
    condition === null ? [] : [{ name: physicalCheckName(number, check), condition }],
  );
}

/** Without a look at the rows, which the caller has checked. Citus adds one constraint at a time. */
function addChecksSql(table: TableId, column: CheckedColumn): Statement[] {
  return physicalChecks(column).map(({ name, condition }) => ({
    text: `alter table ${qualifiedTable(table)} add constraint ${ident(name)} check (${condition}) not valid`,
  }));
}

export function replaceChecksSql(table: TableId, column: CheckedColumn): Statement[] {
  const drops = [...checkNames, 'enum'].map(
    (check) => `drop constraint if exists ${ident(physicalCheckName(column.number, check))}`,
  );
  return [
    { text: `alter table ${qualifiedTable(table)} ${drops.join(', ')}` },
    ...addChecksSql(table, column),
  ];
}

export function countBreakingSql(table: TableId, source: 'table' | 'copy', checks: readonly PhysicalCheck[]) {
  const counts = checks.map(({ condition }) => `count(*) filter (where not (${condition}))::float8`);
  const name = physicalTableName(table.id);
  const from = inSchema(table, source === 'copy' ? copyName(name) : name);
  return `select array[${counts.join(', ')}] as breaking from ${from}`;
}

export function dropColumnSql(
  table: TableId,
  { number, type }: Pick<ColumnRow, 'number' | 'type'>,
): Statement[] {
  const triggers = isFileType(type) ? ['delete', 'update'] : [];
  return [
    ...dropForeignKeySql(table, number),
    ...triggers.map((event) => ({
      text: `drop trigger if exists ${ident(`${event}_${physicalColumnName(number)}`)} on ${qualifiedTable(table)}`,
    })),
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

export interface Conversion {
  from: ColumnType;
  column: Pick<ColumnRow, 'number' | 'name' | 'type'>;
}

/** Numbers are rounded; other values go through their text. */
function convertedValue({ from, column: { number, type } }: Conversion): string {
  const name = ident(physicalColumnName(number));
  const [before, after] = [describeColumnType(from), describeColumnType(type)];
  const isNumber = ({ json }: { json: string }) => ['number', 'integer', 'decimal'].includes(json);
  if (isNumber(before) && isNumber(after)) return `${name}::numeric::${after.sql}`;
  return typeChangeProblem(from, type) === null ? name : `${name}::text::${after.sql}`;
}

export function copyTableSql(
  table: TableRow,
  indexes: readonly { id: string; plan: IndexPlan }[],
  { role, converted }: { role: string | null; converted?: Conversion | undefined },
): Statement[] {
  const copy = inSchema(table, copyName(physicalTableName(table.id)));
  const names = [...table.columns.map((column) => physicalColumnName(column.number)), versionColumn]
    .map(ident)
    .join(', ');
  const values = [
    ...table.columns.map(({ number }) =>
      number === converted?.column.number ? convertedValue(converted) : ident(physicalColumnName(number)),
    ),
    ident(versionColumn),
  ].join(', ');
  const numbered = table.columns.filter(({ type }) => type === 'autonumber');
  const overriding = numbered.length === 0 ? '' : ' overriding system value';
  return [
    ...physicalTableSql(table, copyName, role),
    {
      // With a volatile function, Citus does not send the whole statement to a worker, which 13.2 sometimes writes wrongly.
      text: `insert into ${copy} (${names})${overriding} select ${values} from ${qualifiedTable(table)} where random() >= 0`,
    },
    ...numbered.map((column) => ({ text: continueNumbersSql(table, copy, column) })),
    ...indexes.map(({ id, plan }) => ({ text: createIndexSql(copy, copyName(physicalIndexName(id)), plan) })),
  ];
}

/** Two statements: with Citus, one that reads a table runs on a worker, but the sequence is on the coordinator. */
const continueNumbersSql = (table: TableRow, copy: string, column: ColumnRow) =>
  `do $$ declare highest int8; begin select max(${ident(physicalColumnName(column.number))}) into highest from ${copy};` +
  ` perform setval(${numbersOf(copy, column)}, coalesce(nextval(${numbersOf(qualifiedTable(table), column)}),` +
  ' greatest(highest, 0) + 1, 1), false); end $$';

const numbersOf = (table: string, { number }: ColumnRow) =>
  `pg_get_serial_sequence(${literal(table)}, ${literal(physicalColumnName(number))})`;

export function swapTableSql(table: TableRow): Statement[] {
  const rename = (kind: 'table' | 'index', name: string) => ({
    text: `alter ${kind} ${inSchema(table, copyName(name))} rename to ${ident(name)}`,
  });
  const referrers = (table.referenced_by ?? []).filter(({ table_id }) => table_id !== table.id);
  const id = table.columns.find(({ role }) => role === 'id');
  return [
    ...referrers.flatMap(({ table_id, number }) =>
      dropKeySql({ id: table_id, app_id: table.app_id }, number),
    ),
    { text: `drop table ${qualifiedTable(table)}` },
    rename('table', physicalTableName(table.id)),
    rename('index', primaryKeyName(table.id)),
    ...table.indexes.map((index) => rename('index', physicalIndexName(index.id))),
    ...table.columns.flatMap((column) => addForeignKeySql(table, column, { isValid: true })),
    ...referrers.flatMap(({ table_id, number, on_delete }) =>
      addKeySql({ id: table_id, app_id: table.app_id }, table, {
        number,
        on_delete,
        idNumber: id?.number ?? 0,
        isValid: true,
      }),
    ),
    ...(isLogged(table) ? createTriggersSql(table) : []),
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
    ...vectorColumns(table),
    ...table.columns
      .flatMap(physicalChecks)
      .map(({ name, condition }) => `constraint ${ident(name)} check (${condition})`),
    `constraint ${ident(rename(primaryKeyName(table.id)))} primary key (${ident(physicalColumnName(id?.number ?? 0))})`,
  ];
  return [
    { text: `create table ${target} (${lines.join(', ')})` },
    ...grantSql(`select, insert, update, delete on ${target}`, role),
    ...table.columns.flatMap((column) => fileColumnSql(target, column)),
  ];
}

/** The trigger records removed files in the same transaction, for the job in `rows/files.ts`. */
function fileColumnSql(target: string, { number, type }: Pick<ColumnRow, 'number' | 'type'>): Statement[] {
  if (!isFileType(type)) return [];
  const name = physicalColumnName(number);
  const column = ident(name);
  const release = `for each row when (%) execute function svc_data.release_file(${literal(name)})`;
  const trigger = (event: string, of: string, when: string) => ({
    text: `create trigger ${ident(`${event}_${name}`)} after ${event}${of} on ${target} ${release.replace('%', () => when)}`,
  });
  const isGone = `old.${column} is not null`;
  return [
    refuseOnCitusSql('Columns of files'),
    { text: `create index on ${target} ((${column} ->> 'id'))` },
    trigger('delete', '', isGone),
    trigger('update', ` of ${column}`, `${isGone} and old.${column} is distinct from new.${column}`),
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

/** One expression for the index and for searches, which can only then use the index. */
export const joinedVectors = (names: readonly string[], prefix = '') =>
  names.map((name) => `coalesce(${prefix}${ident(name)}, ''::tsvector)`).join(' || ');

/** The words of each searched column: what a caller may not see is left out of a search by its name. */
function vectorColumns({ indexes }: Pick<TableRow, 'indexes'>): string[] {
  const index = indexes.find(({ search }) => search);
  if (!index?.search) return [];
  const { language, weights } = index.search;
  return index.columns.map((number, at) => {
    const source = `left(${ident(physicalColumnName(number))}, ${searchedCharsMax})`;
    const words = `to_tsvector(${languageSql(language)}, ${source})`;
    return `${ident(physicalVectorName(number))} tsvector generated always as (setweight(${words}, ${literal(weights[at] ?? 'D')})) stored`;
  });
}

export const addVectorsSql = (table: TableRow): Statement[] => [
  {
    text: `alter table ${qualifiedTable(table)} ${vectorColumns(table)
      .map((column) => `add column ${column}`)
      .join(', ')}`,
  },
];

export function dropVectorsSql(table: TableId, numbers: readonly number[]): Statement[] {
  const drops = numbers.map((number) => `drop column if exists ${ident(physicalVectorName(number))}`);
  return [{ text: `alter table ${qualifiedTable(table)} ${drops.join(', ')}` }];
}

function createIndexSql(table: string, name: string, plan: IndexPlan): string {
  const keys = plan.keys.map((number) => ident(physicalColumnName(number))).join(', ');
  const on = {
    btree: `(${keys})`,
    gin: `using gin (${keys} jsonb_path_ops)`,
    gin_array: `using gin (${keys})`,
    search: `using gin ((${joinedVectors(plan.keys.map(physicalVectorName))}))`,
  }[plan.method];
  return `create ${plan.isUnique ? 'unique ' : ''}index ${ident(name)} on ${table} ${on}`;
}

const primaryKeyName = (tableId: string) => `p_${tableId.replaceAll('-', '')}`;
const copyName = (name: string) => `n${name}`;
