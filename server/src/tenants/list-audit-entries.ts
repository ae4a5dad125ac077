import type { TenantCtx } from '../plumbing/context.ts';
import { type AuditAnswer, type AuditQuery, auditPage } from './audit-page.ts';

export function listAuditEntries(ctx: TenantCtx, query: AuditQuery): Promise<AuditAnswer> {
  return auditPage(ctx, query);
}
