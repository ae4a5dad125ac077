import type {
  InspectedTable,
  InspectionConsent,
  LedgerEntry,
  inspectApp as shape,
} from '@svc/contract/inspection.shapes.ts';
import type { inspectable } from '@svc/contract/inspection.ts';
import type { z } from 'zod';
import { type LockedApp, lockAppFor } from '../../apps/record/app-access.ts';
import {
  type AppAccess,
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  ownsApp,
  type TenantCtx,
} from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import {
  countRows,
  fetchPage,
  type PageQuery,
  type PageWindow,
  pageWindow,
  toPage,
} from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { describeTables } from '../tables/copy-tables.ts';

interface ConsentRow {
  id: string;
  tenant_id: string;
  app_id: string;
  granted_by: string;
  granted_at: Date;
  revoked_by: string | null;
  revoked_at: Date | null;
}
interface LedgerRow {
  id: string;
  tenant_id: string;
  app_id: string;
  consent_id: string;
  reader_id: string;
  reader_email: string;
  what: (typeof inspectable)[number];
  reason: string;
  at: Date;
}
type Tables = { inspection_consents: ConsentRow; inspection_ledger: LedgerRow };

function findLatestConsent(db: Db, { tenantId, appId }: AppRef): Promise<ConsentRow | undefined> {
  return (
    db
      .withTables<Tables>()
      .selectFrom('inspection_consents')
      .selectAll()
      .where((e) => e.and({ tenant_id: tenantId, app_id: appId }))
      // By id, which is created under the app's lock; `granted_at` is the start of a transaction that may have waited.
      .orderBy((e) => e('revoked_at', 'is', null), 'desc')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
  );
}

async function insertConsent(tx: Tx, row: ConsentRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('inspection_consents').values(row).execute();
}

async function updateRevocation(tx: Tx, { id, tenant_id, revoked_by, revoked_at }: ConsentRow) {
  await tx
    .withTables<Tables>()
    .updateTable('inspection_consents')
    .set({ revoked_by, revoked_at })
    .where((e) => e.and({ tenant_id, id }))
    .execute();
}

async function insertLedgerRow(tx: Tx, row: LedgerRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('inspection_ledger').values(row).execute();
}

function listLedgerRows(db: Db, app: AppRef, window: PageWindow) {
  return fetchPage(ledgerQuery(db, app).selectAll().orderBy('id', 'desc'), window);
}

function countLedgerRows(db: Db, app: AppRef): Promise<number> {
  return countRows(ledgerQuery(db, app));
}

function ledgerQuery(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('inspection_ledger')
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId }));
}

export async function getInspectionConsent(ctx: AppCtx): Promise<ConsentRecord> {
  const ref = appRef(ctx);
  return consentRecord(ctx.app.id, await findLatestConsent(ctx.db, ref), await countLedgerRows(ctx.db, ref));
}

/** Takes the app's lock, as inspections do, so that none succeeds after a revocation. */
export async function setInspectionConsent(
  ctx: AppMutationCtx,
  { to }: { to: 'granted' | 'revoked' },
): Promise<ConsentRecord & { changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  if (!canSetConsent(to, app.relation)) throw fail('forbidden');
  const ref = appRef(ctx);
  const before = await findLatestConsent(ctx.db, ref);
  const reads = await countLedgerRows(ctx.db, ref);
  const isGranted = before !== undefined && before.revoked_at === null;
  const isChange = isGranted !== (to === 'granted');
  let after = before;
  if (isChange) after = isGranted ? await revokeConsent(ctx, before) : await grantConsent(ctx, app.id);
  ctx.audit({
    action: 'inspectionConsent.set',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: consentAudit(before),
    after: consentAudit(after),
  });
  const record = consentRecord(app.id, after, reads);
  return isChange ? record : { ...record, changed: false };
}

async function grantConsent(ctx: AppMutationCtx, appId: string): Promise<ConsentRow> {
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
  ctx.warn(
    'Admins of the tenant can read the schema of the app. Revoking later does not undo what they have read.',
  );
  return row;
}

async function revokeConsent(ctx: AppMutationCtx, consent: ConsentRow): Promise<ConsentRow> {
  const row = { ...consent, revoked_by: ctx.caller.userId, revoked_at: ctx.now };
  await updateRevocation(ctx.db, row);
  ctx.warn('This does not undo what was already read. The ledger keeps who read what.');
  return row;
}

function consentAudit(consent: ConsentRow | undefined) {
  return { inspection_consent: consentStatus(consent), consent_id: consent?.id ?? null };
}

type Inspection = LedgerRecord & { app_id: string; tables: z.output<typeof InspectedTable>[] };

/** Reads and writes the ledger in one transaction, so that every inspection is recorded. */
export async function inspectApp(
  ctx: AppMutationCtx,
  { what, reason }: z.output<typeof shape.body>,
): Promise<Inspection> {
  const { app, consent } = await requireConsent(ctx);
  const tables = await describeTables(ctx.db, appRef(ctx));
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

export async function requireConsent(ctx: AppMutationCtx): Promise<{ app: LockedApp; consent: ConsentRow }> {
  const app = await lockAppFor(ctx, { required: 'admin' });
  const consent = await findLatestConsent(ctx.db, appRef(ctx));
  if (!consent || consentStatus(consent) !== 'granted') throw fail('consent_required');
  return { app, consent };
}

/** Rights on a table show how the app is built: admins who are no owners need the consent for them too. */
export async function recordPreview(
  ctx: TenantCtx,
  { app, reason }: { app: { id: string }; reason: string },
): Promise<void> {
  const ref = appRef({ tenant: ctx.tenant, app });
  const consent = await findLatestConsent(ctx.db, ref);
  if (!consent || consentStatus(consent) !== 'granted') throw fail('consent_required');
  const tx = await ctx.db.startTransaction().execute();
  await insertLedgerRow(tx, {
    id: Bun.randomUUIDv7(),
    tenant_id: ref.tenantId,
    app_id: ref.appId,
    consent_id: consent.id,
    reader_id: ctx.caller.userId,
    reader_email: ctx.caller.email,
    what: 'tables',
    reason,
    at: ctx.now,
  });
  await tx.commit().execute();
}

export async function listInspections(ctx: AppCtx, query: PageQuery) {
  const { rows, total } = await listLedgerRows(ctx.db, appRef(ctx), pageWindow(query));
  return toPage(query, rows.map(ledgerRecord), total);
}

type ConsentRecord = z.output<typeof InspectionConsent>;
type LedgerRecord = z.output<typeof LedgerEntry>;
/** Only the representative owner grants, because reads cannot be undone. Every owner may revoke. */
function canSetConsent(to: 'granted' | 'revoked', relation: AppAccess['relation']): boolean {
  return to === 'granted' ? relation === 'owner' : ownsApp(relation);
}

function consentStatus(latest: Pick<ConsentRow, 'revoked_at'> | undefined): ConsentRecord['status'] {
  if (!latest) return 'never';
  return latest.revoked_at ? 'revoked' : 'granted';
}

function consentRecord(appId: string, latest: ConsentRow | undefined, reads: number): ConsentRecord {
  return {
    app_id: appId,
    consent_id: latest?.id ?? null,
    status: consentStatus(latest),
    granted_by: latest?.granted_by ?? null,
    granted_at: latest?.granted_at.toISOString() ?? null,
    revoked_by: latest?.revoked_by ?? null,
    revoked_at: latest?.revoked_at?.toISOString() ?? null,
    reads,
  };
}

function ledgerRecord(row: LedgerRow): LedgerRecord {
  const { id, consent_id, reader_id, reader_email, what, reason } = row;
  return { id, consent_id, reader_id, reader_email, what, reason, at: row.at.toISOString() };
}
