import type { AppCtx } from '../plumbing/context.ts';
import { type ConsentRecord, consentRecord } from './rules.ts';
import { countLedgerRows, findLatestConsent } from './store.ts';

export async function getInspectionConsent(ctx: AppCtx): Promise<ConsentRecord> {
  const place = [ctx.db, ctx.tenant.id, ctx.app.id] as const;
  return consentRecord(ctx.app.id, await findLatestConsent(...place), await countLedgerRows(...place));
}
