import { sql } from 'kysely';
import { canonicalJson, sha256 } from './canonical.ts';
import type { AuditedChange } from './context.ts';
import type { Db, Tx } from './db.ts';
import { changesOf } from './plan.ts';

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
interface AuditHeadsTable {
  tenant_id: string;
  seq: number;
  hash: string;
}
type Tables = {
  audit_entries: AuditEntriesTable;
  audit_heads: AuditHeadsTable;
};

export interface AuditOrigin {
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

const beginning = sha256('');

/**
 * Appends to the tenant's chain. The head's row lock puts concurrent changes of a tenant in line, so this is the
 * last thing a mutation does before it commits.
 */
export async function appendAudit(
  tx: Tx,
  origin: AuditOrigin,
  changes: readonly AuditedChange[],
): Promise<ChainHead | null> {
  if (changes.length === 0) return null;
  const db = tx.withTables<Tables>();
  await db
    .insertInto('audit_heads')
    .values({ tenant_id: origin.tenantId, seq: 0, hash: beginning })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  let head = await db
    .selectFrom('audit_heads')
    .select(['seq', 'hash'])
    .where('tenant_id', '=', origin.tenantId)
    .forUpdate()
    .executeTakeFirstOrThrow();
  for (const change of changes) {
    const entry: Omit<AuditEntriesTable, 'hash'> = {
      tenant_id: origin.tenantId,
      seq: head.seq + 1,
      at: origin.at,
      actor_kind: origin.actor.kind,
      actor_id: origin.actor.id,
      actor_name: storable(origin.actor.name),
      action: change.action,
      target_kind: change.target.kind,
      target_id: change.target.id,
      target_name: storable(change.target.name),
      app_id: change.appId ?? '',
      changes: canonicalJson(changesOf(change)),
      request_id: origin.requestId,
      previous_hash: head.hash,
    };
    head = { seq: entry.seq, hash: entryHash(entry) };
    await db
      .insertInto('audit_entries')
      .values({ ...entry, hash: head.hash })
      .execute();
  }
  await db.updateTable('audit_heads').set(head).where('tenant_id', '=', origin.tenantId).execute();
  return { tenantId: origin.tenantId, ...head };
}

/**
 * Over every column but the hash itself, so that an edit of any of them is found. Named one by one: a column added
 * later must not change the hashes of entries that are there.
 */
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

/** As the database gives it back: what it would store as another text would look like an edit. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

/** Every place where the chains do not hold: an edited, missing, doubled or reordered entry, a cut tail. */
export async function findAuditBreaks(db: Db, anchors: readonly ChainHead[] = []): Promise<string[]> {
  const tables = db.withTables<Tables>();
  const heads = await tables.selectFrom('audit_heads').selectAll().execute();
  const tenantIds = new Set([
    ...heads.map((head) => head.tenant_id),
    ...(await tenantsWithEntries(db)),
    ...anchors.map((anchor) => anchor.tenantId),
  ]);
  const breaks: string[] = [];
  for (const tenantId of tenantIds) {
    const head = heads.find((row) => row.tenant_id === tenantId);
    breaks.push(...(await breaksOfChain(db, tenantId, head, anchors)));
  }
  return breaks;
}

/** One step of the index per tenant: `distinct` would read every entry. */
async function tenantsWithEntries(db: Db): Promise<string[]> {
  const { rows } = await sql<{ tenant_id: string }>`
    with recursive found as (
      (select tenant_id from svc.audit_entries order by tenant_id limit 1)
      union all
      select (select e.tenant_id from svc.audit_entries e where e.tenant_id > found.tenant_id order by e.tenant_id limit 1)
      from found where found.tenant_id is not null
    )
    select tenant_id from found where tenant_id is not null`.execute(db);
  return rows.map((row) => row.tenant_id);
}

async function breaksOfChain(
  db: Db,
  tenantId: string,
  head: AuditHeadsTable | undefined,
  anchors: readonly ChainHead[],
): Promise<string[]> {
  const breaks: string[] = [];
  const expected = new Map(
    anchors.filter((anchor) => anchor.tenantId === tenantId).map((a) => [a.seq, a.hash]),
  );
  let previous = { seq: 0, hash: beginning };
  for (;;) {
    const entries = await db
      .withTables<Tables>()
      .selectFrom('audit_entries')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('seq', '>', previous.seq)
      .orderBy('seq')
      .limit(1000)
      .execute();
    if (entries.length === 0) break;
    for (const { hash, ...entry } of entries) {
      const place = `tenant ${tenantId}, entry ${entry.seq}`;
      if (entry.seq !== previous.seq + 1) breaks.push(`${place}: entries before it are missing`);
      if (entry.previous_hash !== previous.hash) breaks.push(`${place}: does not follow the entry before it`);
      if (entryHash(entry) !== hash) breaks.push(`${place}: was edited`);
      const anchored = expected.get(entry.seq);
      if (anchored !== undefined && anchored !== hash) breaks.push(`${place}: differs from its anchor`);
      expected.delete(entry.seq);
      previous = { seq: entry.seq, hash };
    }
  }
  if ((head?.seq ?? 0) !== previous.seq || (head?.hash ?? beginning) !== previous.hash) {
    breaks.push(
      `tenant ${tenantId}: the last entries are missing (head ${head?.seq ?? 0}, found ${previous.seq})`,
    );
  }
  for (const seq of expected.keys()) breaks.push(`tenant ${tenantId}, entry ${seq}: anchored, but missing`);
  return breaks;
}

export async function auditEntriesBefore(
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
    .withTables<Tables>()
    .selectFrom('audit_entries')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('seq', 'desc')
    .limit(page.limit);
  if (page.beforeSeq !== null) query = query.where('seq', '<', page.beforeSeq);
  if (page.action !== undefined) query = query.where('action', '=', page.action);
  if (page.targetId !== undefined) query = query.where('target_id', '=', page.targetId);
  // Said as the index has it, which leaves out what belongs to no app.
  if (page.appId !== undefined) query = query.where('app_id', '=', page.appId).where('app_id', '<>', '');
  return query.execute();
}

/** Microseconds would be lost on the way through a JavaScript date and break the hash: cut them at the source. */
export async function transactionTime(tx: Tx): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select date_trunc('milliseconds', now()) as now`.execute(tx);
  const now = rows[0]?.now;
  if (!now) throw new Error('The database told no time.');
  return now;
}
