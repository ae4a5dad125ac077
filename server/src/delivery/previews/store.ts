import { type RawBuilder, sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { DeploymentRow } from '../deployments/store.ts';

interface StoredPreview {
  app_id: string;
  tenant_id: string;
  parent_id: string;
  branch: string;
  slug: string;
  commit_sha: string;
  pushed_by: string | null;
  pushed_at: Date;
  ttl_seconds: number;
  expires_at: Date;
  created_at: Date;
}
type Tables = { previews: StoredPreview };

export interface PreviewRow extends StoredPreview {
  subdomain: string;
  is_live: boolean;
  /** The newest one. */
  deployment: Pick<DeploymentRow, 'id' | 'seq' | 'state' | 'commit_message'> | null;
}

/** The latest push first. */
export function listPreviewRows(db: Db, parent: AppRef): Promise<PreviewRow[]> {
  return selectPreviews(db, parent, sql`true`);
}

export async function findPreviewRow(
  db: Db,
  parent: AppRef,
  by: { slug: string } | { branch: string },
): Promise<PreviewRow | undefined> {
  const which = 'slug' in by ? sql`p.slug = ${by.slug}` : sql`p.branch = ${by.branch}`;
  return (await selectPreviews(db, parent, which))[0];
}

async function selectPreviews(
  db: Db,
  { tenantId, appId }: AppRef,
  which: RawBuilder<unknown>,
): Promise<PreviewRow[]> {
  const { rows } = await sql<PreviewRow>`
    select p.*, a.subdomain, a.live_deployment_id is not null as is_live, to_jsonb(d) as deployment
    from svc.previews p join svc.apps a on a.id = p.app_id
    left join lateral (
      select id, seq, state, commit_message from svc.deployments
      where app_id = p.app_id and tenant_id = p.tenant_id order by seq desc limit 1) d on true
    where p.tenant_id = ${tenantId} and p.parent_id = ${appId} and ${which}
    order by p.pushed_at desc, p.slug`.execute(db);
  return rows;
}

export async function insertPreviewRow(tx: Tx, row: StoredPreview): Promise<void> {
  await tx.withTables<Tables>().insertInto('previews').values(row).execute();
}

export async function updatePreviewRow(
  tx: Tx,
  { tenant_id, app_id }: Pick<StoredPreview, 'tenant_id' | 'app_id'>,
  set: Partial<StoredPreview>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('previews')
    .set(set)
    .where((row) => row.and({ tenant_id, app_id }))
    .execute();
}

export type ExpiredPreview = Pick<StoredPreview, 'app_id' | 'tenant_id' | 'parent_id' | 'branch'>;

/** Across all tenants, the longest overdue first. */
export async function listExpiredPreviews(db: Db, now: Date): Promise<ExpiredPreview[]> {
  const { rows } = await sql<ExpiredPreview>`
    select app_id, tenant_id, parent_id, branch from svc.previews
    where expires_at <= ${now} order by expires_at limit 200`.execute(db);
  return rows;
}
