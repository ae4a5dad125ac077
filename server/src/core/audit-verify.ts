import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { type AuditHeadsTable, type AuditTables, type ChainHead, entryHash, genesisHash } from './audit.ts';
import type { Db } from './db.ts';
import type { EffectHandler } from './outbox-worker.ts';

export async function findAuditBreaks(db: Db, anchors: readonly ChainHead[] = []): Promise<string[]> {
  const heads = await db.withTables<AuditTables>().selectFrom('audit_heads').selectAll().execute();
  const tenantIds = new Set([
    ...heads.map((head) => head.tenant_id),
    ...(await tenantsWithEntries(db)),
    ...anchors.map((anchor) => anchor.tenantId),
  ]);
  const breaks: string[] = [];
  for (const tenantId of tenantIds) {
    const head = heads.find((row) => row.tenant_id === tenantId);
    breaks.push(...(await findChainBreaks(db, tenantId, head, anchors)));
  }
  return breaks;
}

/** A loose index scan, one index step per tenant; `distinct` would read every entry. */
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

async function findChainBreaks(
  db: Db,
  tenantId: string,
  head: AuditHeadsTable | undefined,
  anchors: readonly ChainHead[],
): Promise<string[]> {
  const breaks: string[] = [];
  const expected = new Map(
    anchors.filter((anchor) => anchor.tenantId === tenantId).map((a) => [a.seq, a.hash]),
  );
  let previous = { seq: 0, hash: genesisHash };
  for (;;) {
    const entries = await db
      .withTables<AuditTables>()
      .selectFrom('audit_entries')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('seq', '>', previous.seq)
      .orderBy('seq')
      .limit(1000)
      .execute();
    if (entries.length === 0) break;
    for (const { hash, ...entry } of entries) {
      const entryName = `tenant ${tenantId}, entry ${entry.seq}`;
      if (entry.seq !== previous.seq + 1) breaks.push(`${entryName}: entries before it are missing`);
      if (entry.previous_hash !== previous.hash)
        breaks.push(`${entryName}: does not follow the entry before it`);
      if (entryHash(entry) !== hash) breaks.push(`${entryName}: was edited`);
      const anchored = expected.get(entry.seq);
      if (anchored !== undefined && anchored !== hash) breaks.push(`${entryName}: differs from its anchor`);
      expected.delete(entry.seq);
      previous = { seq: entry.seq, hash };
    }
  }
  if ((head?.seq ?? 0) !== previous.seq || (head?.hash ?? genesisHash) !== previous.hash) {
    breaks.push(
      `tenant ${tenantId}: the last entries are missing (head ${head?.seq ?? 0}, found ${previous.seq})`,
    );
  }
  for (const seq of expected.keys()) breaks.push(`tenant ${tenantId}, entry ${seq}: anchored, but missing`);
  return breaks;
}

/** Stored outside the database: an attacker who rebuilds a whole chain there cannot make it match these heads. */
export function anchorsPath(dataDir: string): string {
  return join(dataDir, 'audit-anchors.jsonl');
}

const appendsBetweenCompactions = 1_000;

/** Both append and compaction are synchronous, so that writes of one process cannot interleave. */
export function createAnchorWriter(file: string): (head: ChainHead) => void {
  compactAnchors(file);
  let appends = 0;
  return (head) => {
    appendAnchor(file, head);
    if (++appends % appendsBetweenCompactions === 0) compactAnchors(file);
  };
}

export function anchorEffect(dataDir: string): EffectHandler {
  const write = createAnchorWriter(anchorsPath(dataDir));
  return async (head) => write(head as unknown as ChainHead);
}

export function appendAnchor(file: string, head: ChainHead): void {
  const { tenantId, seq, hash } = head;
  appendFileSync(file, `${JSON.stringify({ tenantId, seq, hash })}\n`, { mode: 0o600 });
}

export function readAnchors(file: string): ChainHead[] {
  if (!existsSync(file)) return [];
  return parseAnchors(readFileSync(file, 'utf8'));
}

function parseAnchors(text: string): ChainHead[] {
  return text.split('\n').flatMap((line) => parseAnchor(line) ?? []);
}

/** Lines that another process appends to the old file meanwhile are copied to the new one. */
function compactAnchors(file: string): void {
  if (!existsSync(file)) return;
  const replaced = openSync(file, 'r');
  try {
    const newest = new Map<string, ChainHead>();
    for (const anchor of parseAnchors(readFileSync(replaced, 'utf8'))) {
      const known = newest.get(anchor.tenantId);
      if (!known || anchor.seq >= known.seq) newest.set(anchor.tenantId, anchor);
    }
    if (newest.size === 0) return;
    const next = `${file}.${process.pid}.next`;
    const lines = [...newest.values()].map((head) => `${JSON.stringify(head)}\n`);
    writeFileSync(next, lines.join(''), { mode: 0o600 });
    renameSync(next, file);
    const more = readFileSync(replaced, 'utf8');
    if (more !== '') appendFileSync(file, more);
  } finally {
    closeSync(replaced);
  }
}

function parseAnchor(line: string): ChainHead | null {
  try {
    return JSON.parse(line) as ChainHead;
  } catch {
    return null;
  }
}
