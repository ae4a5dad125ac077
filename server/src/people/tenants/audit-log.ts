import type { listAuditEntries as shape } from '@svc/contract/tenants.shapes.ts';
import type { z } from 'zod';
import { type AuditEntriesTable, listAuditEntries as listAuditRows } from '../../core/audit.ts';
import type { TenantCtx } from '../../core/context.ts';
import { formatAuditCursor, parseAuditCursor } from './rules.ts';

type AuditAnswer = z.output<typeof shape.answer>;

/** Newest first. Entries are only appended, so a cursor stays valid. */
export async function listAuditEntries(
  ctx: TenantCtx,
  { cursor, per_page, action, target_id: targetId }: z.output<typeof shape.query>,
  appId?: string,
): Promise<AuditAnswer> {
  const found = await listAuditRows(ctx.db, ctx.tenant.id, {
    beforeSeq: cursor === undefined ? null : parseAuditCursor(cursor),
    limit: per_page + 1,
    action,
    targetId,
    appId,
  });
  const entries = found.slice(0, per_page);
  const last = found.length > per_page ? entries.at(-1) : undefined;
  return { items: entries.map(auditEntryRecord), next_cursor: last ? formatAuditCursor(last.seq) : null };
}

function auditEntryRecord(entry: AuditEntriesTable): AuditAnswer['items'][number] {
  return {
    seq: entry.seq,
    at: entry.at.toISOString(),
    actor: { kind: entry.actor_kind, id: entry.actor_id, name: entry.actor_name },
    action: entry.action,
    target: { kind: entry.target_kind, id: entry.target_id, name: entry.target_name },
    changes: JSON.parse(entry.changes),
    request_id: entry.request_id,
    hash: entry.hash,
  };
}
