import type { SiteConfig } from '@svc/contract/site-config.ts';
import { sql } from 'kysely';
import type { AppAccess, AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { RunningApp, SiteFile } from './site-cache.ts';

/** Read in one statement, so that all fields are consistent. */
export interface SiteRow {
  appId: string;
  tenantId: string;
  visibility: AppAccess['visibility'];
  record: 'active' | 'archived';
  runtime: 'none' | 'running' | 'suspended';
  isPublished: boolean | null;
  isStagingEnabled: boolean | null;
  releaseId: string | null;
  releaseState: string | null;
  files: number | null;
  config: SiteConfig | null;
  tenantSlug: string;
  authMode: RunningApp['authMode'];
  /** The live deployment, or at a staging host the one that waits for its review; null for static ones. */
  deploymentId: string | null;
  addresses: string[];
  firstByteMs: number | null;
  /** Null: the app does not sleep. */
  sleepMs: number | null;
  healthMs: number | null;
}

/** Instances not confirmed for this long get no requests. */
const confirmedSecondsMax = 15;

/** Without a tenant filter: the host identifies the app. */
export async function findSiteRow(
  db: Db,
  { of, pointer }: { of: { subdomain: string } | { appId: string }; pointer: 'active' | 'staged' },
): Promise<SiteRow | null> {
  const which = 'appId' in of ? sql`a.id = ${of.appId}` : sql`a.subdomain = ${of.subdomain}`;
  const { rows } = await sql<SiteRow>`
    select a.id as "appId", a.tenant_id as "tenantId", a.visibility, a.record, a.runtime,
      s.is_published as "isPublished", s.staging_enabled as "isStagingEnabled",
      r.id as "releaseId", r.state as "releaseState", r.files, r.served_config as config,
      t.slug as "tenantSlug", a.auth_mode as "authMode", d.id as "deploymentId",
      (d.start_with->>'firstByteMs')::int as "firstByteMs",
      (d.start_with->>'sleepMs')::int as "sleepMs",
      (d.start_with->'health'->>'timeoutMs')::int as "healthMs",
      array(
        select i.address from svc.app_instances i
        where i.app_id = a.id and i.deployment_id = d.id and i.state = 'ready' and i.address is not null
          and i.confirmed_at > now() - make_interval(secs => ${confirmedSecondsMax})
        order by i.address
      ) as addresses
    from svc.apps a
    join svc.tenants t on t.id = a.tenant_id
    left join svc.publication_requests p on ${pointer === 'staged'} and p.app_id = a.id
      and p.status = 'pending' and p.pinned = 'built'
    left join svc.deployments d on d.method <> 'static'
      and d.id = ${pointer === 'staged' ? sql`p.deployment_id` : sql`a.live_deployment_id`}
    left join svc.static_sites s on s.app_id = a.id and s.tenant_id = a.tenant_id
    left join svc.static_releases r on r.app_id = s.app_id
      and r.id = ${sql.ref(`s.${pointer}_release_id`)}
    where ${which} and a.record in ('active', 'archived')`.execute(db);
  return rows[0] ?? null;
}

export async function listReleaseFiles(
  db: Db,
  { tenantId, appId, releaseId }: AppRef & { releaseId: string },
): Promise<(Omit<SiteFile, 'tag'> & { sha256: string })[]> {
  const { rows } = await sql<Omit<SiteFile, 'tag'> & { sha256: string }>`
    select f.path, f.sha256, f.size, b.blob_id as "blobId", b.gzip_size as "gzipSize", b.brotli_size as "brotliSize"
    from svc.static_files f
    join svc.static_blobs b on b.app_id = ${appId} and b.tenant_id = ${tenantId} and b.sha256 = f.sha256
    where f.release_id = ${releaseId}`.execute(db);
  return rows;
}
