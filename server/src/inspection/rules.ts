import type { InspectionConsent, LedgerEntry } from '@svc/contract/inspection.shapes.ts';
import type { z } from 'zod';
import type { AppAccess } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import type { ConsentRow, LedgerRow } from './store.ts';

export type ConsentRecord = z.output<typeof InspectionConsent>;
export type LedgerRecord = z.output<typeof LedgerEntry>;
export type ConsentStatus = ConsentRecord['status'];

/** What is read under a consent stays read, so only who answers for the app gives it; each owner may end it. */
export function maySet(to: 'granted' | 'revoked', relation: AppAccess['relation']): boolean {
  return to === 'granted' ? relation === 'owner' : ownsApp(relation);
}

export function statusOf(latest: Pick<ConsentRow, 'revoked_at'> | undefined): ConsentStatus {
  if (!latest) return 'never';
  return latest.revoked_at ? 'revoked' : 'granted';
}

export function consentRecord(appId: string, latest: ConsentRow | undefined, reads: number): ConsentRecord {
  return {
    app_id: appId,
    consent_id: latest?.id ?? null,
    status: statusOf(latest),
    granted_by: latest?.granted_by ?? null,
    granted_at: latest?.granted_at.toISOString() ?? null,
    revoked_by: latest?.revoked_by ?? null,
    revoked_at: latest?.revoked_at?.toISOString() ?? null,
    reads,
  };
}

export function ledgerRecord(row: LedgerRow): LedgerRecord {
  const { id, consent_id, reader_id, reader_email, what, reason } = row;
  return { id, consent_id, reader_id, reader_email, what, reason, at: row.at.toISOString() };
}
