import type { Promotion, Release } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import type { PromotionRow } from './promotion-store.ts';
import type { ReleaseRow } from './release-store.ts';
import { digestOf, type Pointers, rolesOf } from './rules.ts';

export type ReleaseRecord = z.output<typeof Release>;
export type PromotionRecord = z.output<typeof Promotion>;

export function releaseRecord(
  row: ReleaseRow,
  { site, open }: { site: Pointers | undefined; open: Pick<PromotionRow, 'release_id'> | undefined },
): ReleaseRecord {
  return {
    id: row.id,
    app_id: row.app_id,
    number: row.number,
    version: row.version,
    state: row.state,
    roles: rolesOf(site, open, row),
    files: row.files,
    bytes: row.bytes,
    digest: digestOf(row),
    config: { ...row.served_config },
    on_finalize: row.on_finalize,
    reviewed_for: row.reviewed_for,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    finalized_at: row.finalized_at?.toISOString() ?? null,
    activated_at: row.activated_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}

export function promotionRecord(row: PromotionRow): PromotionRecord {
  return {
    id: row.id,
    release_id: row.release_id,
    digest: row.digest,
    status: row.status,
    note: row.note,
    requested_by: row.requested_by,
    requested_at: row.requested_at.toISOString(),
    decided_by: row.decided_by,
    decided_at: row.decided_at?.toISOString() ?? null,
    reason: row.reason,
  };
}
