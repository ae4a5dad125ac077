import { isGitRef } from '@svc/contract/git-names.ts';
import { manifestOf } from '@svc/contract/manifest.shapes.ts';
import { durationMs, manifestBytesMax, manifestFileNames } from '@svc/contract/manifest.ts';
import { parseManifestDocument } from '@svc/contract/manifest-document.ts';
import { ManifestFaults } from '@svc/contract/manifest-faults.ts';
import type { Preview } from '@svc/contract/previews.shapes.ts';
import { matchesBranch, previewTtlHours } from '@svc/contract/previews.ts';
import { type RawBuilder, sql } from 'kysely';
import * as yaml from 'yaml';
import type { z } from 'zod';
import { appUrl } from '../../apps/record/rules.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { sha256 } from '../../core/values.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';
import type { DeploymentRow } from '../deployments/store.ts';
import type { ConnectionRow } from '../git-connections/connection-store.ts';
import { findConnectedRepository, parseRepoName } from '../git-connections/repositories.ts';
import type { PreviewSettings } from '../git-connections/rules.ts';

export type PreviewRecord = z.output<typeof Preview>;

const hashChars = 6;
/** A shorter part of a host would not tell branches apart. */
export const slugCharsMin = hashChars + 2;

/** `feature/Login_2` becomes `feature-login-2`. A name that is cut, or means another branch already, ends with a hash. */
export function branchSlug(
  branch: string,
  { charsMax, isTaken }: { charsMax: number; isTaken: (slug: string) => boolean },
): string {
  const plain = branch
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '');
  // `xn--` begins a name in Punycode.
  if (plain.length >= 2 && plain !== 'xn' && plain.length <= charsMax && !isTaken(plain)) return plain;
  const start = plain.slice(0, charsMax - hashChars - 1).replace(/-+$/, '');
  return `${start || 'b'}-${sha256(branch).slice(0, hashChars)}`;
}

export function previewRecord(row: PreviewRow, urls: { baseUrl: string; appsDomain: string }): PreviewRecord {
  const { deployment } = row;
  return {
    id: row.app_id,
    branch: row.branch,
    slug: row.slug,
    url: appUrl(urls, row.subdomain),
    commit: row.commit_sha,
    commit_message: deployment?.commit_message ?? null,
    deployment: deployment && { id: deployment.id, seq: deployment.seq, state: deployment.state },
    live: row.is_live,
    pushed_by: row.pushed_by,
    pushed_at: row.pushed_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}

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
  deployment: Pick<DeploymentRow, 'id' | 'seq' | 'state' | 'commit_message'> | null;
}

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

async function selectPreviews(db: Db, { tenantId, appId }: AppRef, which: RawBuilder<unknown>) {
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

type ExpiredPreview = Pick<StoredPreview, 'app_id' | 'tenant_id' | 'parent_id' | 'branch'>;

export async function listExpiredPreviews(db: Db, now: Date): Promise<ExpiredPreview[]> {
  const { rows } = await sql<ExpiredPreview>`
    select app_id, tenant_id, parent_id, branch from svc.previews
    where expires_at <= ${now} order by expires_at limit 200`.execute(db);
  return rows;
}

/** By the connected branch: an unreviewed one cannot enable its own preview. Asks the git host: not in a transaction. */
export async function findPreviewSettings(
  deps: { gitHost: GitHost },
  connection: ConnectionRow,
  branch: string,
): Promise<PreviewSettings | null> {
  if (branch === connection.branch || !isGitRef(branch)) return null;
  const found = await findConnectedRepository(deps, {
    repo: parseRepoName(connection.repo),
    repoId: connection.repo_id,
    installationId: connection.installation_id,
  });
  if (!found) return null;
  for (const path of manifestFileNames) {
    const file = { path, ref: connection.branch, bytesMax: manifestBytesMax };
    const text = await found.client.readFile(found.repository, file);
    if (text !== null) return parseSettings(text, branch);
  }
  return null;
}

/** A file with faults gives no previews; the deployment of the connected branch shows them. */
function parseSettings(text: string, branch: string): PreviewSettings | null {
  try {
    const { previews } = manifestOf(parseManifestDocument(yaml, text));
    if (!previews || !matchesBranch(previews.branches, branch)) return null;
    return { ttlSeconds: durationMs(previews.ttl ?? `${previewTtlHours.default}h`) / 1_000 };
  } catch (error) {
    if (error instanceof ManifestFaults) return null;
    throw error;
  }
}
