import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { type ConsentRecord, consentRecord, maySet, statusOf } from './rules.ts';
import {
  type ConsentRow,
  countLedgerRows,
  findLatestConsent,
  insertConsent,
  saveRevocation,
} from './store.ts';

/** Under the lock of the app, which inspections take as well: after a revocation there is none. */
export async function setInspectionConsent(
  ctx: AppMutationCtx,
  { to }: { to: 'granted' | 'revoked' },
): Promise<ConsentRecord & { changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  if (!maySet(to, app.relation)) throw fail('forbidden');
  const place = [ctx.db, ctx.tenant.id, app.id] as const;
  const before = await findLatestConsent(...place);
  const reads = await countLedgerRows(...place);
  const isStanding = before !== undefined && before.revoked_at === null;
  const changes = isStanding !== (to === 'granted');
  const after = !changes ? before : isStanding ? await revoke(ctx, before) : await grant(ctx, app.id);
  ctx.audit({
    action: 'inspectionConsent.set',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: audited(before),
    after: audited(after),
  });
  return { ...consentRecord(app.id, after, reads), ...(changes ? {} : { changed: false }) };
}

async function grant(ctx: AppMutationCtx, appId: string): Promise<ConsentRow> {
  const row: ConsentRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    app_id: appId,
    granted_by: ctx.caller.userId,
    granted_at: ctx.now,
    revoked_by: null,
    revoked_at: null,
  };
  await insertConsent(ctx.db, row);
  ctx.warn('Admins of the tenant can read how the app is built; what they have read, no revocation recalls.');
  return row;
}

async function revoke(ctx: AppMutationCtx, standing: ConsentRow): Promise<ConsentRow> {
  const row = { ...standing, revoked_by: ctx.caller.userId, revoked_at: ctx.now };
  await saveRevocation(ctx.db, ctx.tenant.id, row);
  ctx.warn('This does not recall what was already read; the ledger keeps who read what.');
  return row;
}

function audited(consent: ConsentRow | undefined) {
  return { inspection_consent: statusOf(consent), consent_id: consent?.id ?? null };
}
