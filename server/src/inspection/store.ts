import type { inspectable } from '@svc/contract/inspection.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';

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

/** The one that stands, or the last that did. */
export function findLatestConsent(db: Db, tenantId: string, appId: string): Promise<ConsentRow | undefined> {
  return (
    db
      .withTables<Tables>()
      .selectFrom('inspection_consents')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('app_id', '=', appId)
      // By id: it is made under the app's lock, while the time is of the beginning of a transaction that may have waited.
      .orderBy((e) => e('revoked_at', 'is', null), 'desc')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst()
  );
}

export async function insertConsent(tx: Tx, row: ConsentRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('inspection_consents').values(row).execute();
}

export async function saveRevocation(
  tx: Tx,
  tenantId: string,
  { id, revoked_by, revoked_at }: Pick<ConsentRow, 'id' | 'revoked_by' | 'revoked_at'>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('inspection_consents')
    .set({ revoked_by, revoked_at })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export async function insertLedgerRow(tx: Tx, row: LedgerRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('inspection_ledger').values(row).execute();
}

export async function listLedgerRows(db: Db, tenantId: string, appId: string, window: Window) {
  const rows = await ledgerOf(db, tenantId, appId)
    .selectAll()
    .orderBy('id', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  return { rows, total: await countLedgerRows(db, tenantId, appId) };
}

export async function countLedgerRows(db: Db, tenantId: string, appId: string): Promise<number> {
  const { total } = await ledgerOf(db, tenantId, appId)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

function ledgerOf(db: Db, tenantId: string, appId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('inspection_ledger')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
