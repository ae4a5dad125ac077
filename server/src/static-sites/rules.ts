import { visibilities } from '@svc/contract/apps.ts';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import { releasesKeptMax } from '@svc/contract/static-sites.ts';
import { canonicalJson, sha256 } from '../plumbing/canonical.ts';
import type { AppAccess } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { fail } from '../plumbing/problem.ts';
import type { FileRow } from './file-store.ts';
import type { PromotionRow } from './promotion-store.ts';
import type { ReleaseRow } from './release-store.ts';
import type { SiteRow } from './site-store.ts';

export type Pointer = 'active' | 'staged';
export type Pointers = Pick<SiteRow, 'active_release_id' | 'staged_release_id'>;

/** One sum for the same files with the same sums and the same configuration, in whatever order they were listed. */
export function manifestSum(files: readonly FileRow[], config: SiteConfig): string {
  // No path holds a line break, so that no two lists give the same text.
  const lines = files.map(({ path, sha256, size }) => `${path}\n${sha256} ${size}\n`).sort();
  return sha256(`${lines.join('')}\n${canonicalJson(config)}`);
}

/** What a review approves: the files, and all that says how they are served. */
export function digestOf(release: Pick<ReleaseRow, 'manifest_sha256' | 'served_config'>): string {
  return sha256(canonicalJson([release.manifest_sha256, release.served_config]));
}

/** Beyond the owners, only what was reviewed for as many people is shown; what is shown already may be shown again. */
export function mayShow(
  { visibility }: Pick<AppAccess, 'visibility'>,
  site: Pick<SiteRow, 'active_release_id'>,
  release: Pick<ReleaseRow, 'id' | 'reviewed_for'>,
): boolean {
  if (visibility === 'private' || site.active_release_id === release.id) return true;
  return release.reviewed_for !== null && rank(release.reviewed_for) >= rank(visibility);
}

/** For whom an approval counts: for those beyond the owners who see the app now, and for as many as one did before. */
export function reviewedFor(
  { visibility }: Pick<AppAccess, 'visibility'>,
  before: ReleaseRow['reviewed_for'],
): ReleaseRow['reviewed_for'] {
  if (visibility === 'private') return before;
  return before !== null && rank(before) > rank(visibility) ? before : visibility;
}

function rank(visibility: AppAccess['visibility']): number {
  return visibilities.indexOf(visibility);
}

/** Where finalizing a release leads that is to be deployed. */
export function pointerOfDeploy(
  app: Pick<AppAccess, 'visibility'>,
  site: Pick<SiteRow, 'active_release_id' | 'staging_enabled'>,
  release: Pick<ReleaseRow, 'id' | 'reviewed_for'>,
): Pointer | null {
  if (mayShow(app, site, release)) return 'active';
  return site.staging_enabled ? 'staged' : null;
}

/** Where a pointer leads. */
export function releaseAt(site: Pointers, pointer: Pointer | null): string | null {
  return pointer && { active: site.active_release_id, staged: site.staged_release_id }[pointer];
}

/** Which pointer leads to it. */
export function pointerTo(site: Pointers, releaseId: string): Pointer | null {
  if (site.active_release_id === releaseId) return 'active';
  return site.staged_release_id === releaseId ? 'staged' : null;
}

export function rolesOf(
  site: Pointers | undefined,
  open: Pick<PromotionRow, 'release_id'> | undefined,
  release: Pick<ReleaseRow, 'id' | 'state' | 'activated_at'>,
): ('staged' | 'promote_requested' | 'active' | 'superseded')[] {
  const isActive = site?.active_release_id === release.id;
  const wasActive = release.state === 'finalized' && release.activated_at !== null;
  return [
    ...(site?.staged_release_id === release.id ? (['staged'] as const) : []),
    ...(open?.release_id === release.id ? (['promote_requested'] as const) : []),
    ...(isActive ? (['active'] as const) : []),
    ...(wasActive && !isActive ? (['superseded'] as const) : []),
  ];
}

/** Finalized ones without a part to play beyond those that are kept: what was shown or made last is kept. */
export function expiring<
  R extends Pick<ReleaseRow, 'id' | 'state' | 'number' | 'finalized_at' | 'activated_at'>,
>(releases: readonly R[], site: Pointers, open: Pick<PromotionRow, 'release_id'> | undefined): R[] {
  const lastUse = (release: R) => (release.activated_at ?? release.finalized_at)?.getTime() ?? 0;
  return releases
    .filter(({ id, state }) => state === 'finalized' && !pointerTo(site, id) && open?.release_id !== id)
    .sort((one, other) => lastUse(other) - lastUse(one) || other.number - one.number)
    .slice(releasesKeptMax);
}

/**
 * Which releases take a new configuration of the site. What was reviewed, or was ever asked to be, keeps the one it has: who
 * approves it has seen that one, whatever was asked for since. Only what the owners of a private app see takes each one.
 */
export function servedAnew<R extends Pick<ReleaseRow, 'id' | 'reviewed_for'>>(
  { visibility }: Pick<AppAccess, 'visibility'>,
  site: Pick<SiteRow, 'active_release_id'>,
  { releases, requested }: { releases: readonly R[]; requested: ReadonlySet<string> },
): R[] {
  return releases.filter(({ id, reviewed_for }) =>
    id === site.active_release_id ? visibility === 'private' : reviewed_for === null && !requested.has(id),
  );
}

/**
 * What the promotion was asked for is what is staged at this moment, to the byte, and visitors see what they saw then: the
 * generation moves with both.
 */
export function isAsRequested(
  promotion: Pick<PromotionRow, 'release_id' | 'digest' | 'generation'>,
  site: Pick<SiteRow, 'generation'>,
  release: Pick<ReleaseRow, 'id' | 'manifest_sha256' | 'served_config'>,
): boolean {
  return (
    promotion.release_id === release.id &&
    promotion.generation === site.generation &&
    promotion.digest === digestOf(release)
  );
}

/**
 * Owners read every file. Somebody who only governs reads what is theirs to judge now: what the staging host shows them,
 * what waits for a review, and what people beyond the owners see. That it was reviewed once is no grant for ever.
 */
export function mayReadFiles(
  { relation, visibility }: Pick<AppAccess, 'relation' | 'visibility'>,
  site: (Pointers & Pick<SiteRow, 'staging_enabled' | 'is_published'>) | undefined,
  release: Pick<ReleaseRow, 'id'> & { waits: boolean },
): boolean {
  if (ownsApp(relation) || release.waits) return true;
  const isStaged = site?.staging_enabled === true && site.staged_release_id === release.id;
  const isShown = site?.is_published === true && site.active_release_id === release.id;
  return isStaged || (isShown && visibility !== 'private');
}

export function refuseArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('app_not_active', { detail: 'The app is archived; reactivate it first.' });
}

export function requireFinalized({ state }: Pick<ReleaseRow, 'state'>): void {
  if (state === 'revoked') throw fail('release_revoked');
  if (state !== 'finalized')
    throw fail('release_not_finalized', { detail: `The release is ${stateText(state)}.` });
}

export function stateText(state: ReleaseRow['state']): string {
  return {
    draft: 'a draft',
    finalized: 'finalized',
    revoked: 'revoked',
    abandoned: 'abandoned: it was given up before it was finalized',
    expired: 'expired: newer ones have taken its place',
  }[state];
}

export function releaseName({ number, version }: Pick<ReleaseRow, 'number' | 'version'>): string {
  return version === '' ? `#${number}` : `#${number} ${version}`;
}
