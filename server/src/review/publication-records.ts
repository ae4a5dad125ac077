import type { PublicationRequest } from '@svc/contract/review.shapes.ts';
import type { z } from 'zod';
import { appNames } from '../apps/app-names.ts';
import type { Ctx } from '../plumbing/context.ts';
import { findUsers } from '../users/find-users.ts';
import { statusOf } from './rules.ts';
import type { PublicationRow } from './store.ts';

export type PublicationRecord = z.output<typeof PublicationRequest>;

/** With what the apps are called, and who the people are. All of one tenant. */
export async function publicationRecords(
  ctx: Pick<Ctx, 'db' | 'now'>,
  tenantId: string,
  rows: readonly PublicationRow[],
): Promise<PublicationRecord[]> {
  const apps = await appNames(ctx.db, tenantId, [...new Set(rows.map(({ app_id }) => app_id))]);
  const ids = rows.flatMap(({ requested_by, decided_by }) => [requested_by, decided_by ?? requested_by]);
  const users = await findUsers(ctx, { ids: [...new Set(ids)] });
  const email = (id: string | null) => (id === null ? '' : (users.get(id)?.email ?? ''));
  return rows.map((row) => ({
    id: row.id,
    app_id: row.app_id,
    app_slug: apps.get(row.app_id)?.slug ?? '',
    app_name: apps.get(row.app_id)?.name ?? '',
    status: statusOf(row, ctx.now),
    visibility: row.visibility,
    visibility_before: row.visibility_before,
    pinned: row.pinned,
    deployment_id: row.deployment_id,
    release_id: row.release_id,
    digest: row.digest,
    note: row.note,
    requested_by: row.requested_by,
    requested_by_email: email(row.requested_by),
    requested_at: row.requested_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    decided_by: row.decided_by,
    decided_by_email: email(row.decided_by),
    decided_at: row.decided_at?.toISOString() ?? null,
    reason: row.reason,
  }));
}

export async function publicationRecord(
  ctx: Pick<Ctx, 'db' | 'now'>,
  row: PublicationRow,
): Promise<PublicationRecord> {
  const [record] = await publicationRecords(ctx, row.tenant_id, [row]);
  if (!record) throw new Error('A request to publish has no record.');
  return record;
}
