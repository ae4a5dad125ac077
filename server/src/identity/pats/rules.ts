import type { Pat } from '@svc/contract/identity.shapes.ts';
import { describePatAction } from '@svc/contract/pat-actions.ts';
import type { z } from 'zod';
import type { PatRow } from './store.ts';

export type PatRecord = z.output<typeof Pat>;

/** Expiry is evaluated on read. */
export function patStatus(pat: Pick<PatRow, 'revoked_at' | 'expires_at'>, now: Date): PatRecord['status'] {
  if (pat.revoked_at) return 'revoked';
  return pat.expires_at <= now ? 'expired' : 'active';
}

export function patRecord({ secret_hash: _, ...row }: PatRow, now: Date): PatRecord {
  return {
    ...row,
    status: patStatus(row, now),
    allows: row.actions.map(describePatAction),
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? '',
    last_used_at: row.last_used_at?.toISOString() ?? '',
  };
}
