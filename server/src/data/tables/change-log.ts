import { changesRetentionHours } from '@svc/contract/rows.ts';
import { sql } from 'kysely';
import pg from 'pg';
import { type Db, refusalState } from '../../core/db.ts';
import {
  inSchema,
  physicalColumnName,
  physicalLogFunctionName,
  physicalLogName,
  qualifiedTable,
  type TableId,
} from './catalogue.ts';
import type { Statement } from './ddl.ts';
import type { TableRow } from './store.ts';

const isCitus = `exists (select from pg_extension where extname = 'citus')`;

/** On Citus, triggers run on a worker: a log would have its numbers and transactions, and the schema `svc_data` is elsewhere. */
export const refuseOnCitusSql = (what: string): Statement => ({
  text: refusal(isCitus, `${what} cannot be used with tables on Citus.`),
});

export const requireTriggersSql = (what: string): Statement => ({
  text: refusal(
    `${isCitus} and current_setting('citus.enable_unsafe_triggers', true) is distinct from 'on'`,
    `${what} needs the setting citus.enable_unsafe_triggers on all nodes of Citus. Ask the operator.`,
  ),
});

const refusal = (condition: string, message: string) =>
  `do $$ begin if ${condition} then raise exception using errcode = ${literal(refusalState)}, message = ${literal(message)}; end if; end $$`;

/** Set in each transaction as `<user> <request>`. */
export const causeSetting = 'svc.cause';
/** In place of a cause: what the transaction does is rolled back. */
export const previewCause = 'preview';

const ident = pg.escapeIdentifier;
const literal = pg.escapeLiteral;

type LoggedTable = Pick<TableRow, 'id' | 'app_id' | 'columns' | 'history_days' | 'soft_delete_days'>;

const logTable = (table: TableId) => inSchema(table, physicalLogName(table.id));
const logFunction = (table: TableId) => inSchema(table, physicalLogFunctionName(table.id));

type Retention = Pick<TableRow, 'history_days' | 'soft_delete_days'>;

export const hasHistory = ({ history_days, soft_delete_days }: Retention) =>
  history_days !== null || soft_delete_days !== null;

export const isLogged = (table: Pick<TableRow, 'changes'> & Retention) => table.changes || hasHistory(table);

/** `seq` is taken under the row's lock, so it orders changes of a row; `xid` tells which changes a snapshot contains. */
export function createLogSql(table: LoggedTable, role: string | null): Statement[] {
  const log = logTable(table);
  const body = `
    begin
      -- Numbers of the log are not rolled back.
      if current_setting('${causeSetting}', true) = '${previewCause}' then
        return null;
      end if;
      if tg_op = 'INSERT' then
        insert into ${log} (new) select row_to_json(n) from n;
      elsif tg_op = 'UPDATE' then
        -- By their places: a row with two references to a row that is deleted is updated twice.
        insert into ${log} (old, new) select row_to_json(o.row), row_to_json(n.row)
          from (select row_number() over () as at, o as row from o) o
          join (select row_number() over () as at, n as row from n) n on o.at = n.at
          where o.row is distinct from n.row order by o.at;
      else
        insert into ${log} (old) select row_to_json(o) from o;
      end if;
      return null;
    end`;
  return [
    refuseOnCitusSql('Change feed, history and trash'),
    {
      text: `create table ${log} (
        seq int8 generated always as identity,
        xid xid8 not null default pg_current_xact_id(),
        at timestamptz not null default now(),
        -- Not jsonb, which takes writers twice the time.
        old json,
        new json,
        -- User and request, where the history of rows needs them.
        cause text default nullif(current_setting('${causeSetting}', true), '')
      )`,
    },
    { text: `create index on ${log} (xid)` },
    ...(hasHistory(table) ? indexLogSql(table) : []),
    ...(role === null ? [] : [{ text: `grant select, insert on ${log} to ${ident(role)}` }]),
    { text: `create function ${logFunction(table)}() returns trigger language plpgsql as ${literal(body)}` },
    ...createTriggersSql(table),
  ];
}

const idName = ({ columns }: LoggedTable) =>
  physicalColumnName(columns.find((column) => column.role === 'id')?.number ?? 0);

export const loggedId = (physical: string) => `(coalesce(new, old) ->> ${literal(physical)})`;

export function indexLogSql(table: LoggedTable): Statement[] {
  const name = ident(`${physicalLogName(table.id)}_id`);
  return [
    { text: `create index if not exists ${name} on ${logTable(table)} (${loggedId(idName(table))}, seq)` },
  ];
}

const transitionTables = {
  insert: 'new table as n',
  update: 'old table as o new table as n',
  delete: 'old table as o',
};
const triggerName = (action: string) => `log_${action}`;
export const logTriggerNames = Object.keys(transitionTables).map(triggerName);

/** Triggers of statements: a batch is logged by one statement too. */
export function createTriggersSql(table: TableId): Statement[] {
  const on = qualifiedTable(table);
  return Object.entries(transitionTables).map(([action, tables]) => ({
    text: `create trigger ${triggerName(action)} after ${action} on ${on} referencing ${tables}
      for each statement execute function ${logFunction(table)}()`,
  }));
}

/** Triggers are gone if the table itself is dropped. */
export function dropLogSql(table: TableId): Statement[] {
  return [
    { text: `drop function if exists ${logFunction(table)}() cascade` },
    { text: `drop table if exists ${logTable(table)}` },
  ];
}

const isLog = `n.nspname ~ '^app_[0-9a-f]{32}$' and c.relname ~ '^l_[0-9a-f]{32}$' and c.relkind = 'r'`;

/** An hour longer than a position is accepted, because a change has the time at which its transaction began. */
export async function deleteOldChanges({ db, rowsDb }: { db: Db; rowsDb: Db }): Promise<void> {
  const retained = await sql<{ log: string; hours: number }>`
    select 'l_' || replace(id::text, '-', '') as log, 24 * greatest(history_days, soft_delete_days) as hours
    from svc.app_tables where history_days is not null or soft_delete_days is not null`.execute(db);
  const hoursOf = new Map(retained.rows.map(({ log, hours }) => [log, hours]));
  const logs = await sql<{ schema: string; name: string }>`
    select n.nspname as schema, c.relname as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${sql.raw(isLog)}`.execute(rowsDb);
  for (const { schema, name } of logs.rows) {
    const hours = Math.max(hoursOf.get(name) ?? 0, changesRetentionHours) + 1;
    // A table that was dropped meanwhile.
    await sql`delete from ${sql.id(schema, name)} where at < now() - make_interval(hours => ${hours})`
      .execute(rowsDb)
      .catch(() => {});
  }
}

/** After a restore, the ids of another cluster are replaced by one that is older than every snapshot. */
export const forgetTransactionsSql = `
  do $$ declare log text; begin
    for log in select format('%I.%I', n.nspname, c.relname)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${isLog}
    loop execute format('update %s set xid = ''0''', log); end loop;
  end $$`;
