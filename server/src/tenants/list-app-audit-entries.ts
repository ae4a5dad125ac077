import type { AppCtx } from '../plumbing/context.ts';
import { type AuditAnswer, type AuditQuery, auditPage } from './audit-page.ts';

/** For the app's owners: nothing else of the tenant is among them, whatever the query asks for. */
export function listAppAuditEntries(ctx: AppCtx, query: AuditQuery): Promise<AuditAnswer> {
  return auditPage(ctx, { ...query, appId: ctx.app.id });
}
