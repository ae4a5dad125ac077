import type { inspectable } from '@svc/contract/inspection.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';

export interface ConsentRow {
  id: string;
  tenant_id: string;
  app_id: string;
  granted_by: string;
  granted_at: Date;
  revoked_by: string | null;
  revoked_at: Date | null;
}
export interface LedgerRow {
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

export function findLatestConsent(db: Db, { tenantId, appId }: AppRef): Promise<ConsentRow | undefined> {
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

export async function insertConsent(tx: Tx, row: ConsentRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('inspection_consents').values(row).execute();
}

export async function updateRevocation(
  tx: Tx,
  { id, tenant_id, revoked_by, revoked_at }: ConsentRow,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('inspection_consents')
    .set({ revoked_by, revoked_at })
    .where((e) => e.and({ tenant_id, id }))
    .execute();
}

export async function insertLedgerRow(tx: Tx, row: LedgerRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('inspection_ledger').values(row).execute();
}

export async function listLedgerRows(db: Db, app: AppRef, window: PageWindow) {
  const rows = await ledgerQuery(db, app)
    .selectAll()
    .orderBy('id', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  return { rows, total: await countLedgerRows(db, app) };
}

export async function countLedgerRows(db: Db, app: AppRef): Promise<number> {
  const { total } = await ledgerQuery(db, app)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

function ledgerQuery(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('inspection_ledger')
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId }));
}
