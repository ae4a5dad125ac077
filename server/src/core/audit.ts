import { sql } from 'kysely';
import type { AuditedChange } from './context.ts';
import type { Db, Tx } from './db.ts';
import { fieldChanges } from './plan.ts';
import { canonicalJson, sha256 } from './values.ts';

export interface AuditEntriesTable {
  tenant_id: string;
  seq: number;
  at: Date;
  actor_kind: string;
  actor_id: string;
  actor_name: string;
  action: string;
  target_kind: string;
  target_id: string;
  target_name: string;
  app_id: string;
  changes: string;
  request_id: string;
  previous_hash: string;
  hash: string;
}
export interface AuditHeadsTable {
  tenant_id: string;
  seq: number;
  hash: string;
}
export type AuditTables = {
  audit_entries: AuditEntriesTable;
  audit_heads: AuditHeadsTable;
};

interface AuditOrigin {
  tenantId: string;
  at: Date;
  actor: { kind: string; id: string; name: string };
  requestId: string;
}

export interface ChainHead {
  tenantId: string;
  seq: number;
  hash: string;
}

export const genesisHash = sha256('');

/** A statement has at most 65,535 parameters. */
const entriesPerInsert = 1_000;

/** The row lock on the chain head serializes changes of a tenant, so mutations call this as late as possible. */
export async function appendAudit(
  tx: Tx,
  origin: AuditOrigin,
  changes: readonly AuditedChange[],
): Promise<ChainHead | null> {
  if (changes.length === 0) return null;
  const db = tx.withTables<AuditTables>();
  let head = await lockHead(tx, origin.tenantId);
  const entries = changes.map((change): AuditEntriesTable => {
    const entry: Omit<AuditEntriesTable, 'hash'> = {
      tenant_id: origin.tenantId,
      seq: head.seq + 1,
      at: origin.at,
      actor_kind: origin.actor.kind,
      actor_id: origin.actor.id,
      actor_name: toStorableText(origin.actor.name),
      action: change.action,
      target_kind: change.target.kind,
      target_id: change.target.id,
      target_name: toStorableText(change.target.name),
      app_id: change.appId ?? '',
      changes: canonicalJson(fieldChanges(change)),
      request_id: origin.requestId,
      previous_hash: head.hash,
    };
    head = { seq: entry.seq, hash: entryHash(entry) };
    return { ...entry, hash: head.hash };
  });
  for (let at = 0; at < entries.length; at += entriesPerInsert)
    await db
      .insertInto('audit_entries')
      .values(entries.slice(at, at + entriesPerInsert))
      .execute();
  await db.updateTable('audit_heads').set(head).where('tenant_id', '=', origin.tenantId).execute();
  return { tenantId: origin.tenantId, ...head };
}

async function lockHead(tx: Tx, tenantId: string): Promise<Omit<ChainHead, 'tenantId'>> {
  const db = tx.withTables<AuditTables>();
  const query = db
    .selectFrom('audit_heads')
    .select(['seq', 'hash'])
    .where('tenant_id', '=', tenantId)
    .forUpdate();
  const head = await query.executeTakeFirst();
  if (head) return head;
  await db
    .insertInto('audit_heads')
    .values({ tenant_id: tenantId, seq: 0, hash: genesisHash })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return query.executeTakeFirstOrThrow();
}

/** Columns are listed one by one: a column added later must not change the hashes of existing entries. */
export function entryHash(entry: Omit<AuditEntriesTable, 'hash'>): string {
  const hashed = {
    tenant_id: entry.tenant_id,
    seq: Number(entry.seq),
    at: entry.at.toISOString(),
    actor_kind: entry.actor_kind,
    actor_id: entry.actor_id,
    actor_name: entry.actor_name,
    action: entry.action,
    target_kind: entry.target_kind,
    target_id: entry.target_id,
    target_name: entry.target_name,
    app_id: entry.app_id,
    changes: entry.changes,
    request_id: entry.request_id,
    previous_hash: entry.previous_hash,
  };
  return sha256(canonicalJson(hashed));
}

/** PostgreSQL stores no NUL and no lone surrogate; the hash must be over the text that it returns. */
function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

export async function listAuditEntries(
  db: Db,
  tenantId: string,
  page: {
    beforeSeq: number | null;
    limit: number;
    action: string | undefined;
    targetId: string | undefined;
    appId: string | undefined;
  },
): Promise<AuditEntriesTable[]> {
  let query = db
    .withTables<AuditTables>()
    .selectFrom('audit_entries')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('seq', 'desc')
    .limit(page.limit);
  if (page.beforeSeq !== null) query = query.where('seq', '<', page.beforeSeq);
  if (page.action !== undefined) query = query.where('action', '=', page.action);
  if (page.targetId !== undefined) query = query.where('target_id', '=', page.targetId);
  // The second condition matches the partial index, which omits entries without an app.
  if (page.appId !== undefined) query = query.where('app_id', '=', page.appId).where('app_id', '<>', '');
  return query.execute();
}

export async function listEntriesOfUser(
  db: Db,
  { tenantId, userId, actions }: { tenantId: string; userId: string; actions: readonly string[] },
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: AuditEntriesTable[]; total: number }> {
  const found = sql`
    select * from svc.audit_entries
    where tenant_id = ${tenantId} and target_id = ${userId} and action = any(${actions}::text[])
    union all
    select * from svc.audit_entries where actor_id = ${userId} and action = 'pats.create'`;
  const [page, count] = await Promise.all([
    sql<AuditEntriesTable>`
      select * from (${found}) as found order by at desc, seq desc limit ${limit} offset ${offset}`.execute(
      db,
    ),
    sql<{ total: number }>`select count(*)::int as total from (${found}) as found`.execute(db),
  ]);
  return { rows: page.rows, total: count.rows[0]?.total ?? 0 };
}

/** Truncated to milliseconds: a JavaScript date would lose the microseconds, and the hash would not match. */
export async function transactionTime(tx: Tx): Promise<Date> {
  const time = sql<Date>`date_trunc('milliseconds', now())`.as('now');
  return (await tx.selectNoFrom(time).executeTakeFirstOrThrow()).now;
}
