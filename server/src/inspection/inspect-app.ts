import type { InspectedTable, inspectApp as shape } from '@svc/contract/inspection.shapes.ts';
import type { z } from 'zod';
import { type HeldApp, holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { describeTables } from '../tables/describe-tables.ts';
import { type LedgerRecord, ledgerRecord, statusOf } from './rules.ts';
import { type ConsentRow, findLatestConsent, insertLedgerRow, type LedgerRow } from './store.ts';

export type Inspection = LedgerRecord & { app_id: string; tables: z.output<typeof InspectedTable>[] };

/** What is read and the entry that says so are one transaction: nothing is read that the ledger does not know of. */
export async function inspectApp(
  ctx: AppMutationCtx,
  { what, reason }: z.output<typeof shape.body>,
): Promise<Inspection> {
  const { app, consent } = await requireConsent(ctx);
  const tables = await describeTables(ctx.db, { tenantId: ctx.tenant.id, appId: app.id });
  const row: LedgerRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    app_id: app.id,
    consent_id: consent.id,
    reader_id: ctx.caller.userId,
    reader_email: ctx.caller.email,
    what,
    reason,
    at: ctx.now,
  };
  await insertLedgerRow(ctx.db, row);
  ctx.audit({
    action: 'inspections.create',
    appId: app.id,
    target: { kind: 'inspection', id: row.id, name: app.slug },
    before: null,
    after: { consent_id: consent.id, what, reason },
  });
  return { ...ledgerRecord(row), app_id: app.id, tables };
}

/** Under the lock of the app: none that is revoked, and nobody who is no admin any more. */
export async function requireConsent(ctx: AppMutationCtx): Promise<{ app: HeldApp; consent: ConsentRow }> {
  const app = await holdApp(ctx, { wanted: 'admin' });
  const consent = await findLatestConsent(ctx.db, ctx.tenant.id, app.id);
  if (!consent || statusOf(consent) !== 'granted') throw fail('consent_required');
  return { app, consent };
}
