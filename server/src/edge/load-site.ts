import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import { compileConfig } from './compile-config.ts';
import type { SiteHost } from './edge-host.ts';
import { createPreparedFiles } from './prepared-files.ts';
import type { ReleaseContents } from './release-contents.ts';
import type { ReleaseContent, RunningApp, SiteFile, SiteSnapshot } from './site-snapshot.ts';
import { findShown, listShownFiles, type ShownRow } from './store.ts';

export interface LoadedSite {
  snapshot: SiteSnapshot;
  /** The same for as long as the snapshot would be made the same: then the one at hand is kept, with all it has ready. */
  facts: string;
}

export interface SiteSource {
  db: Db;
  contents: ReleaseContents;
  /** The app that has a custom domain. */
  appAt(host: string): Promise<string | null>;
}

/** A release may be swept between two looks, once its site shows another; then the site is looked up again. */
const triesMax = 3;

/** Null: nobody has the host. */
export async function loadSite(source: SiteSource, host: SiteHost): Promise<LoadedSite | null> {
  for (let tries = 1; ; tries++) {
    const row = await findRow(source, host);
    if (!row) return null;
    const app = runningApp(row, host);
    const content = await contentOf(source, row, app ? null : shownRelease(row, host));
    if (content !== 'gone') {
      const snapshot = { ...snapshotOf(row, host, content), app };
      return { snapshot, facts: JSON.stringify(row) };
    }
    if (tries >= triesMax) {
      throw fail('unavailable', {}, { cause: new Error(`Release ${row.releaseId} is not whole.`) });
    }
  }
}

async function findRow({ db, appAt }: SiteSource, host: SiteHost): Promise<ShownRow | null> {
  if (host.kind === 'staging') return findShown(db, { of: host, pointer: 'staged' });
  if (host.kind === 'app') return findShown(db, { of: host, pointer: 'active' });
  const appId = await appAt(host.host);
  return appId === null ? null : findShown(db, { of: { appId }, pointer: 'active' });
}

/** Which release is shown: a suspended app shows none, and one that is staged needs no app that runs. */
function shownRelease(row: ShownRow, { kind }: SiteHost): string | null {
  if (row.record !== 'active' || row.releaseState !== 'finalized') return null;
  const isShown =
    kind === 'staging'
      ? row.isStagingEnabled === true && row.runtime !== 'suspended'
      : row.isPublished === true && row.runtime === 'running';
  return isShown ? row.releaseId : null;
}

/** A deployment that runs stands before a release; at the staging host there are releases only. */
function runningApp(row: ShownRow, { kind }: SiteHost): RunningApp | null {
  const { deploymentId, addresses, authMode, tenantSlug } = row;
  if (kind === 'staging' || deploymentId === null) return null;
  if (row.record !== 'active' || row.runtime !== 'running') return null;
  return { deploymentId, addresses, authMode, tenantSlug };
}

async function contentOf(
  { db, contents }: SiteSource,
  { tenantId, appId, files }: ShownRow,
  releaseId: string | null,
): Promise<ReleaseContent | null | 'gone'> {
  if (releaseId === null) return null;
  const content = await contents.get(releaseId, async () => {
    const rows = await listShownFiles(db, { tenantId, appId, releaseId });
    const files = new Map(rows.map((row) => [row.path, fileOf(row)]));
    return { releaseId, files, use: { isRecent: false } };
  });
  if (content.files.size === files) return content;
  contents.forget(releaseId);
  return 'gone';
}

function fileOf({ sha256, ...row }: Awaited<ReturnType<typeof listShownFiles>>[number]): SiteFile {
  return { ...row, tag: `"${sha256.slice(0, 32)}` };
}

function snapshotOf(
  row: ShownRow,
  host: SiteHost,
  content: ReleaseContent | null,
): Omit<SiteSnapshot, 'app'> {
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
