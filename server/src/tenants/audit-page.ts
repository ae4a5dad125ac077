import type { listAuditEntries as shape } from '@svc/contract/tenants.shapes.ts';
import type { z } from 'zod';
import { type AuditEntriesTable, auditEntriesBefore } from '../plumbing/audit.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { auditCursor, seqOfCursor } from './rules.ts';

export type AuditQuery = z.output<typeof shape.query>;
export type AuditAnswer = z.output<typeof shape.answer>;

/** Newest first; of one app where it is named. The list grows at its head only, so a cursor stays good. */
export async function auditPage(
  ctx: TenantCtx,
  { appId, ...query }: AuditQuery & { appId?: string },
): Promise<AuditAnswer> {
  const { cursor, per_page, action, target_id: targetId } = query;
  const beforeSeq = cursor === undefined ? null : seqOfCursor(cursor);
  const found = await auditEntriesBefore(ctx.db, ctx.tenant.id, {
    beforeSeq,
    limit: per_page + 1,
    action,
    targetId,
    appId,
  });
  const entries = found.slice(0, per_page);
  const last = found.length > per_page ? entries.at(-1) : undefined;
  return { items: entries.map(entryRecord), next_cursor: last ? auditCursor(last.seq) : null };
}

function entryRecord(entry: AuditEntriesTable): AuditAnswer['items'][number] {
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
