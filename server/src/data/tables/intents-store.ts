import { sql } from 'kysely';
import type { Db, LoggedStatement, Tx } from '../../core/db.ts';

export interface TableIntent {
  id: string;
  tenant_id: string;
  app_ids: string[];
  epoch: string;
  statements: LoggedStatement[];
  table_ids: string[];
  before: Definition[];
}

export type OpenIntent = Pick<TableIntent, 'id' | 'tenant_id'>;

export interface Definition {
  table: { id: string; tenant_id: string; app_id: string; name: string };
  columns: object[];
  indexes: object[];
  grants: object[];
}

/** As JSON texts by table id; texts of equal definitions are equal. */
export async function readDefinitions(db: Db, tableIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; definition: string }>`
    select t.id, jsonb_build_object('table', to_jsonb(t),
      'columns', (select coalesce(jsonb_agg(to_jsonb(c) order by c.number), '[]')
        from svc.app_table_columns c where c.table_id = t.id),
      'indexes', (select coalesce(jsonb_agg(to_jsonb(i) order by i.id), '[]')
        from svc.app_table_indexes i where i.table_id = t.id),
      'grants', (select coalesce(jsonb_agg(to_jsonb(g) order by g.id), '[]')
        from svc.table_grants g where g.table_id = t.id))::text as definition
    from svc.app_tables t where t.id = any(${[...tableIds]}::uuid[])`.execute(db);
  return new Map(rows.map(({ id, definition }) => [id, definition]));
}

export async function insertIntent(
  tx: Tx,
  { before, ...intent }: Omit<TableIntent, 'before'> & { before: readonly string[] },
): Promise<string> {
  const { rows } = await sql<{ xid: string }>`
    insert into svc.table_intents (id, tenant_id, app_ids, epoch, statements, table_ids, before)
    values (${intent.id}, ${intent.tenant_id}, ${intent.app_ids}::uuid[], ${intent.epoch},
      ${JSON.stringify(intent.statements)}::jsonb, ${intent.table_ids}::uuid[], ${`[${before.join(',')}]`}::jsonb)
    returning pg_current_xact_id()::text as xid`.execute(tx);
  return rows[0]?.xid ?? '';
}

export async function transactionStatus(db: Db, xid: string): Promise<string | null> {
  const { rows } = await sql<{ status: string | null }>`
    select pg_xact_status(${xid}::xid8) as status`.execute(db);
  return rows[0]?.status ?? null;
}

export async function listIntents(
  db: Db,
  { appId, olderThanMs = 0 }: { appId?: string; olderThanMs?: number },
): Promise<OpenIntent[]> {
  const { rows } = await sql<OpenIntent>`
    select id, tenant_id from svc.table_intents
    where undone_at is null and (${appId ?? null}::uuid is null or ${appId ?? null} = any(app_ids))
      and created_at <= clock_timestamp() - make_interval(secs => ${olderThanMs / 1000})
    order by created_at`.execute(db);
  return rows;
}

export async function lockIntent(tx: Tx, id: string): Promise<TableIntent | 'undone' | 'busy' | null> {
  const locked = await sql<TableIntent & { is_undone: boolean }>`
    select id, tenant_id, app_ids, epoch, statements, table_ids, before, undone_at is not null as is_undone
    from svc.table_intents where id = ${id} for update skip locked`.execute(tx);
  const [intent] = locked.rows;
  if (intent) return intent.is_undone ? 'undone' : intent;
  const left = await sql`select from svc.table_intents where id = ${id}`.execute(tx);
  return left.rows.length > 0 ? 'busy' : null;
}

export async function markUndone(tx: Tx, id: string): Promise<void> {
  await sql`update svc.table_intents set undone_at = now() where id = ${id}`.execute(tx);
}

export async function deleteUndoneIntents(db: Db): Promise<void> {
  await sql`delete from svc.table_intents where undone_at < now() - interval '1 hour'`.execute(db);
}

export async function deleteIntent(db: Db, id: string): Promise<void> {
  await sql`delete from svc.table_intents where id = ${id}`.execute(db);
}

export async function recordAttempt(db: Db, id: string, error: unknown): Promise<void> {
  await sql`update svc.table_intents set attempts = attempts + 1, last_error = ${String(error).slice(0, 1000)}
    where id = ${id}`.execute(db);
}

export async function markDone(rowsTx: Tx, id: string): Promise<boolean> {
  const marked = await sql`insert into svc_data.table_intents (id) values (${id})
    on conflict do nothing`.execute(rowsTx);
  return marked.numAffectedRows === 1n;
}

export async function deleteMark(rowsDb: Db, id: string): Promise<void> {
  await sql`delete from svc_data.table_intents where id = ${id}`.execute(rowsDb);
}

/** Left by changes that ended between their two databases. Marks are read first: one that is seen has its intent already. */
export async function deleteOldMarks({ db, rowsDb }: { db: Db; rowsDb: Db }): Promise<void> {
  const marks = await sql<{ id: string }>`select id from svc_data.table_intents`.execute(rowsDb);
  const open = new Set((await listIntents(db, {})).map(({ id }) => id));
  for (const { id } of marks.rows) if (!open.has(id)) await deleteMark(rowsDb, id);
}

export async function restoreDefinitions(
  tx: Tx,
  { table_ids: ids, before }: TableIntent,
  now: Date,
): Promise<Pick<Definition['table'], 'id' | 'app_id' | 'name'>[]> {
  const json = (rows: readonly unknown[]) => JSON.stringify(rows);
  const tables = json(before.map(({ table }) => table));
  const existed = before.map(({ table }) => table.id);
  const created = ids.filter((id) => !existed.includes(id));
  await sql`delete from svc.app_table_indexes where table_id = any(${ids}::uuid[])`.execute(tx);
  await sql`delete from svc.app_table_columns where table_id = any(${ids}::uuid[])`.execute(tx);
  const removed = await sql<Definition['table']>`
    delete from svc.app_tables where id = any(${created}::uuid[]) returning id, app_id, name`.execute(tx);
  await sql`
    update svc.app_tables t set name = b.name, description = b.description, owner_column = b.owner_column,
      rules = b.rules, changes = b.changes, history_days = b.history_days, soft_delete_days = b.soft_delete_days,
      version = greatest(t.version, b.version) + 1, columns_made = greatest(t.columns_made, b.columns_made),
      attributes_made = b.attributes_made, updated_at = ${now}
    from jsonb_populate_recordset(null::svc.app_tables, ${tables}::jsonb) b where t.id = b.id`.execute(tx);
  await sql`insert into svc.app_tables
    select * from jsonb_populate_recordset(null::svc.app_tables, ${tables}::jsonb) on conflict (id) do nothing`.execute(
    tx,
  );
  await sql`insert into svc.app_table_columns
    select * from jsonb_populate_recordset(null::svc.app_table_columns,
      ${json(before.flatMap(({ columns }) => columns))}::jsonb)`.execute(tx);
  await sql`insert into svc.app_table_indexes
    select * from jsonb_populate_recordset(null::svc.app_table_indexes,
      ${json(before.flatMap(({ indexes }) => indexes))}::jsonb)`.execute(tx);
  await sql`insert into svc.table_grants
    select * from jsonb_populate_recordset(null::svc.table_grants,
      ${json(before.flatMap(({ grants }) => grants))}::jsonb) on conflict do nothing`.execute(tx);
  return [...before.map(({ table }) => table), ...removed.rows];
}
