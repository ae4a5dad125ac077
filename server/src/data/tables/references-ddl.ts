import type { DeleteAction } from '@svc/contract/column-families.ts';
import { escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import {
  physicalColumnName,
  physicalForeignKeyName,
  physicalSchemaName,
  physicalTriggerName,
  qualifiedTable,
  type TableId,
  versionColumn,
} from './catalogue.ts';
import { requireTriggersSql } from './change-log.ts';
import type { Statement } from './ddl.ts';
import type { ColumnRow, TableRow } from './store.ts';

const deleteActionsSql = { restrict: 'restrict', cascade: 'cascade', set_null: 'set null' } as const;

/** Without a look at the rows where the caller knows that they are valid. */
export function addForeignKeySql(
  table: TableId & Pick<TableRow, 'columns'>,
  { number, ref_table, target, on_delete }: ColumnRow,
  { isValid }: { isValid: boolean },
): Statement[] {
  if (!ref_table || !target) return [];
  const action = on_delete ?? 'restrict';
  return [
    ...dropForeignKeySql(table, number),
    ...addKeySql(
      table,
      { id: ref_table, app_id: table.app_id },
      { number, on_delete: action, idNumber: target.id_number, isValid },
    ),
    ...(action === 'set_null' ? touchSql(table, number) : []),
  ];
}

export function addKeySql(
  table: TableId,
  referred: TableId,
  key: { number: number; on_delete: DeleteAction; idNumber: number; isValid: boolean },
): Statement[] {
  const text =
    `alter table ${qualifiedTable(table)} add constraint ${ident(physicalForeignKeyName(key.number))}` +
    ` foreign key (${ident(physicalColumnName(key.number))}) references ${qualifiedTable(referred)}` +
    ` (${ident(physicalColumnName(key.idNumber))}) on delete ${deleteActionsSql[key.on_delete]}`;
  return [{ text: key.isValid ? `${text} not valid` : text }];
}

export const dropKeySql = (table: TableId, number: number): Statement[] => [
  {
    text: `alter table ${qualifiedTable(table)} drop constraint if exists ${ident(physicalForeignKeyName(number))}`,
  },
];

/** Citus refuses to look for a trigger too. */
export function dropForeignKeySql(table: TableId, number: number): Statement[] {
  const [on, trigger] = [qualifiedTable(table), physicalTriggerName(number)];
  return [
    ...dropKeySql(table, number),
    {
      text:
        `do $$ begin if exists (select from pg_trigger where tgrelid = to_regclass(${literal(on)}) and tgname = ${literal(trigger)})` +
        ` then drop trigger ${ident(trigger)} on ${on}; end if; end $$`,
    },
  ];
}

/** PostgreSQL sets references to null by itself: the row gets another version then, as by any other change. */
function touchSql(table: TableId & Pick<TableRow, 'columns'>, number: number): Statement[] {
  const touch = `${ident(physicalSchemaName(table.app_id))}.touch_row`;
  const updatedAt = table.columns.find(({ role }) => role === 'updated_at');
  const name = ident(physicalColumnName(number));
  return [
    requireTriggersSql('on_delete=set_null'),
    {
      text:
        `create or replace function ${touch}() returns trigger language plpgsql as $$ begin` +
        ` new.${versionColumn} := old.${versionColumn} + 1; if tg_nargs > 0 then` +
        ' new := jsonb_populate_record(new, jsonb_build_object(tg_argv[0], clock_timestamp())); end if;' +
        ' return new; end $$',
    },
    {
      text:
        `create trigger ${ident(physicalTriggerName(number))} before update of ${name} on ${qualifiedTable(table)}` +
        ` for each row when (old.${name} is not null and new.${name} is null and old.${versionColumn} = new.${versionColumn})` +
        ` execute function ${touch}(${updatedAt ? literal(physicalColumnName(updatedAt.number)) : ''})`,
    },
  ];
}
