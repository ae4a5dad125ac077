import { healthTimeoutSecondsDefault } from '@svc/contract/deployments.ts';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import { sql } from 'kysely';
import type { AppAccess, AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { confirmedSeconds } from '../../delivery/deployments/instances-store.ts';
import { domainsTag } from '../domains/domain-record.ts';
import type { SiteHost } from '../domains/host-names.ts';
import { compileConfig } from './compile-config.ts';
import { createPreparedFiles } from './prepare-file.ts';
import type { ReleaseContent, RunningApp, SiteFile, SiteSnapshot } from './site-cache.ts';

/** Read in one statement, so that all fields are consistent. */
interface SiteRow {
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
  deploymentId: string | null;
  addresses: string[];
  firstByteMs: number | null;
  sleepMs: number | null;
  healthMs: number | null;
}

/** Without a tenant filter: the host identifies the app. */
async function findSiteRow(
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
          and i.confirmed_at > now() - make_interval(secs => ${confirmedSeconds})
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

async function listReleaseFiles(db: Db, { tenantId, appId, releaseId }: AppRef & { releaseId: string }) {
  const { rows } = await sql<Omit<SiteFile, 'tag'> & { sha256: string }>`
    select f.path, f.sha256, f.size, b.blob_id as "blobId", b.gzip_size as "gzipSize", b.brotli_size as "brotliSize"
    from svc.static_files f
    join svc.static_blobs b on b.app_id = ${appId} and b.tenant_id = ${tenantId} and b.sha256 = f.sha256
    where f.release_id = ${releaseId}`.execute(db);
  return rows;
}

export interface LoadedSite {
  snapshot: SiteSnapshot;
  /** Equal as long as the snapshot would be the same: then the cached snapshot stays. */
  facts: string;
  tags: readonly string[];
}

interface SiteSource {
  db: Db;
  contents: ReturnType<typeof createReleaseContents>;
  appAt(host: string): Promise<string | null>;
}

/** A release may be deleted between the two queries after the site has switched: then the site is read again. */
const triesMax = 3;

export async function loadSite(source: SiteSource, host: SiteHost): Promise<LoadedSite | null> {
  for (let tries = 1; ; tries++) {
    const row = await findRow(source, host);
    if (!row) return null;
    const app = runningApp(row, host);
    const content = await serveContent(source, row, app ? null : servedReleaseId(row, host));
    if (content !== 'gone') {
      const snapshot = { ...snapshotOf(row, host, content), app };
      const tags = host.kind === 'domain' ? [appTag(row.appId), domainsTag] : [appTag(row.appId)];
      return { snapshot, facts: JSON.stringify(row), tags };
    }
    if (tries >= triesMax) {
      throw fail('unavailable', {}, { cause: new Error(`Release ${row.releaseId} is incomplete.`) });
    }
  }
}

async function findRow({ db, appAt }: SiteSource, host: SiteHost): Promise<SiteRow | null> {
  if (host.kind === 'staging') return findSiteRow(db, { of: host, pointer: 'staged' });
  if (host.kind === 'app') return findSiteRow(db, { of: host, pointer: 'active' });
  const appId = await appAt(host.host);
  return appId === null ? null : findSiteRow(db, { of: { appId }, pointer: 'active' });
}

/** A suspended app shows no release. A staged release does not need a running app. */
function servedReleaseId(row: SiteRow, { kind }: SiteHost): string | null {
  if (row.record !== 'active' || row.releaseState !== 'finalized') return null;
  const isShown =
    kind === 'staging'
      ? row.isStagingEnabled === true && row.runtime !== 'suspended'
      : row.isPublished === true && row.runtime === 'running';
  return isShown ? row.releaseId : null;
}

/** For the start of a process or container, before the time for its first healthy response begins. */
const startMsMax = 30_000;

/** A running deployment takes precedence over a release. At a staging host it is the one that waits for its review. */
function runningApp(row: SiteRow, { kind }: SiteHost): RunningApp | null {
  const { deploymentId, addresses, firstByteMs, authMode, tenantSlug, sleepMs, healthMs } = row;
  if (deploymentId === null) return null;
  if (row.record !== 'active' || row.runtime !== 'running') return null;
  // What is reviewed runs only while people look at it.
  const canSleep = sleepMs !== null || kind === 'staging';
  const wakeMs = canSleep ? (healthMs ?? healthTimeoutSecondsDefault * 1_000) + startMsMax : null;
  return { deploymentId, addresses, firstByteMs, wakeMs, authMode, tenantSlug };
}

async function serveContent(
  { db, contents }: SiteSource,
  { tenantId, appId, files }: SiteRow,
  releaseId: string | null,
): Promise<ReleaseContent | null | 'gone'> {
  if (releaseId === null) return null;
  const content = await contents.get(releaseId, async () => {
    const rows = await listReleaseFiles(db, { tenantId, appId, releaseId });
    const files = new Map(rows.map((row) => [row.path, fileOf(row)]));
    return { releaseId, files, use: { isRecent: false } };
  });
  if (content.files.size === files) return content;
  contents.forget(releaseId);
  return 'gone';
}

function fileOf({ sha256, ...row }: Awaited<ReturnType<typeof listReleaseFiles>>[number]): SiteFile {
  return { ...row, tag: `"${sha256.slice(0, 32)}` };
}

function snapshotOf(row: SiteRow, host: SiteHost, content: ReleaseContent | null): Omit<SiteSnapshot, 'app'> {
  const site = {
    appId: row.appId,
    tenantId: row.tenantId,
    hostKind: host.kind,
    isOpen: row.visibility === 'internet' && host.kind !== 'staging',
  };
  return {
    ...site,
    release: content && {
      ...content,
      config: compileConfig(row.config ?? {}),
      prepared: createPreparedFiles(site),
    },
  };
}

/** Cached file lists. They outlive changes of their sites, because a release never changes. */
export function createReleaseContents(options: {
  filesMax: number;
  /** Must drop all references, so that the memory is freed. */
  onDropped: (releaseId: string) => void;
}) {
  const cached = new Map<string, ReleaseContent>();
  const loading = new Map<string, Promise<ReleaseContent>>();
  let total = 0;

  function drop(releaseId: string): void {
    const content = cached.get(releaseId);
    if (!content) return;
    cached.delete(releaseId);
    total -= costOf(content);
    options.onDropped(releaseId);
  }

  function dropOne(): void {
    for (const [releaseId, content] of cached) {
      if (!content.use.isRecent) {
        drop(releaseId);
        return;
      }
      content.use.isRecent = false;
      cached.delete(releaseId);
      cached.set(releaseId, content);
    }
  }

  async function loadContent(
    releaseId: string,
    load: () => Promise<ReleaseContent>,
  ): Promise<ReleaseContent> {
    const content = await load();
    while (cached.size > 0 && total + costOf(content) > options.filesMax) dropOne();
    cached.set(releaseId, content);
    total += costOf(content);
    return content;
  }

  return {
    async get(releaseId: string, load: () => Promise<ReleaseContent>): Promise<ReleaseContent> {
      const known = cached.get(releaseId);
      if (known) return known;
      const under = loading.get(releaseId);
      if (under) return under;
      const result = loadContent(releaseId, load).finally(() => loading.delete(releaseId));
      loading.set(releaseId, result);
      return result;
    },
    forget: drop,
    files: () => total,
  };
}

/** Plus one for the release itself. */
function costOf({ files }: ReleaseContent): number {
  return files.size + 1;
}
