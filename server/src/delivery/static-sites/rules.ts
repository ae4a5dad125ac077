import { visibilities } from '@svc/contract/apps.ts';
import { type SiteConfig, siteConfigBytesMax } from '@svc/contract/site-config.ts';
import {
  releaseBytesMax,
  releaseFileBytesMax,
  releaseFilesMax,
  sitePathClash,
  sitePathFault,
} from '@svc/contract/site-paths.ts';
import { releaseName, retainedReleasesMax, stagingSuffix } from '@svc/contract/static-sites.ts';
import { appUrl } from '../../apps/record/rules.ts';
import { type AppAccess, ownsApp } from '../../core/context.ts';
import { fail, validationError } from '../../core/problem.ts';
import { canonicalJson, quotePath, sha256 } from '../../core/values.ts';
import type { FileRow } from './file-store.ts';
import type { ReleaseRow } from './release-store.ts';
import type { PromotionRow, SiteRow } from './site-store.ts';

export type Pointer = 'active' | 'staged';
export type Pointers = Pick<SiteRow, 'active_release_id' | 'staged_release_id'>;

export function manifestDigest(files: readonly FileRow[], config: SiteConfig): string {
  // Paths contain no line breaks, so different lists give different texts.
  const lines = files.map(({ path, sha256, size }) => `${path}\n${sha256} ${size}\n`).sort();
  return sha256(`${lines.join('')}\n${canonicalJson(config)}`);
}

export function releaseDigest(release: Pick<ReleaseRow, 'manifest_sha256' | 'served_config'>): string {
  return sha256(canonicalJson([release.manifest_sha256, release.served_config]));
}

/** If the app is visible beyond its owners, a release must be reviewed for that visibility, or be active already. */
export function canActivate(
  { visibility }: Pick<AppAccess, 'visibility'>,
  site: Pick<SiteRow, 'active_release_id'>,
  release: Pick<ReleaseRow, 'id' | 'reviewed_for'>,
): boolean {
  if (visibility === 'private' || site.active_release_id === release.id) return true;
  return release.reviewed_for !== null && rank(release.reviewed_for) >= rank(visibility);
}

export function reviewedVisibility(
  { visibility }: Pick<AppAccess, 'visibility'>,
  before: ReleaseRow['reviewed_for'],
): ReleaseRow['reviewed_for'] {
  if (visibility === 'private') return before;
  return before !== null && rank(before) > rank(visibility) ? before : visibility;
}

function rank(visibility: AppAccess['visibility']): number {
  return visibilities.indexOf(visibility);
}

export function deployPointer(
  app: Pick<AppAccess, 'visibility'>,
  site: Pick<SiteRow, 'active_release_id' | 'staging_enabled'>,
  release: Pick<ReleaseRow, 'id' | 'reviewed_for'>,
): Pointer | null {
  if (canActivate(app, site, release)) return 'active';
  return site.staging_enabled ? 'staged' : null;
}

export function pointedReleaseId(site: Pointers, pointer: Pointer | null): string | null {
  return pointer && { active: site.active_release_id, staged: site.staged_release_id }[pointer];
}

export function pointerTo(site: Pointers, releaseId: string): Pointer | null {
  if (site.active_release_id === releaseId) return 'active';
  return site.staged_release_id === releaseId ? 'staged' : null;
}

export function releaseRoles(
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

export function selectExpired<
  R extends Pick<ReleaseRow, 'id' | 'state' | 'number' | 'finalized_at' | 'activated_at'>,
>(releases: readonly R[], site: Pointers, open: Pick<PromotionRow, 'release_id'> | undefined): R[] {
  const lastUse = (release: R) => (release.activated_at ?? release.finalized_at)?.getTime() ?? 0;
  return releases
    .filter(({ id, state }) => state === 'finalized' && !pointerTo(site, id) && open?.release_id !== id)
    .sort((one, other) => lastUse(other) - lastUse(one) || other.number - one.number)
    .slice(retainedReleasesMax);
}

/** A release that was reviewed, or has a review requested, keeps the configuration that the reviewer sees. */
export function selectReconfigured<R extends Pick<ReleaseRow, 'id' | 'reviewed_for'>>(
  { visibility }: Pick<AppAccess, 'visibility'>,
  site: Pick<SiteRow, 'active_release_id'>,
  { releases, requested }: { releases: readonly R[]; requested: ReadonlySet<string> },
): R[] {
  return releases.filter(({ id, reviewed_for }) =>
    id === site.active_release_id ? visibility === 'private' : reviewed_for === null && !requested.has(id),
  );
}

/** The generation changes with the staged content and with the active release. */
export function isUnchangedSinceRequest(
  promotion: Pick<PromotionRow, 'release_id' | 'digest' | 'generation'>,
  site: Pick<SiteRow, 'generation'>,
  release: Pick<ReleaseRow, 'id' | 'manifest_sha256' | 'served_config'>,
): boolean {
  return (
    promotion.release_id === release.id &&
    promotion.generation === site.generation &&
    promotion.digest === releaseDigest(release)
  );
}

/** Owners read every file; admins only what they have to review now. An earlier review grants nothing. */
export function canReadFiles(
  { relation, visibility }: Pick<AppAccess, 'relation' | 'visibility'>,
  site: (Pointers & Pick<SiteRow, 'staging_enabled' | 'is_published'>) | undefined,
  release: Pick<ReleaseRow, 'id'> & { isUnderReview: boolean },
): boolean {
  if (ownsApp(relation) || release.isUnderReview) return true;
  const isStaged = site?.staging_enabled === true && site.staged_release_id === release.id;
  const isShown = site?.is_published === true && site.active_release_id === release.id;
  return isStaged || (isShown && visibility !== 'private');
}

export function requireNotArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('app_not_active', { detail: 'The app is archived. Reactivate it first.' });
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
    abandoned: 'abandoned: it was not finalized in time',
    expired: 'expired: newer releases replaced it',
  }[state];
}

export function releaseEntry(
  action: string,
  release: Pick<ReleaseRow, 'id' | 'app_id' | 'number' | 'version'>,
) {
  const target = { kind: 'release', id: release.id, name: releaseName(release) };
  return { action, appId: release.app_id, target };
}

export interface SiteUrls {
  baseUrl: string;
  appsDomain: string;
}

const labelCharsMax = 63;

export function siteUrl(urls: SiteUrls, subdomain: string | null, pointer: Pointer): string | null {
  if (subdomain === null) return null;
  const label = pointer === 'active' ? subdomain : `${subdomain}${stagingSuffix}`;
  return label.length > labelCharsMax ? null : appUrl(urls, label);
}

const errorsMax = 100;

export function checkFiles(files: readonly FileRow[]): number {
  checkLimits(files);
  checkPaths(files);
  checkCollisions(files);
  const sizes = new Map<string, number>();
  let bytes = 0;
  for (const [at, { sha256, size }] of files.entries()) {
    bytes += size;
    if ((sizes.get(sha256) ?? size) !== size)
      throw validationError(
        `files[${at}].size`,
        'differs from the size of another file with the same digest',
      );
    sizes.set(sha256, size);
  }
  if (bytes > releaseBytesMax)
    throw fail('payload_too_large', {
      detail: `A release can have at most ${releaseBytesMax} bytes in total.`,
    });
  return bytes;
}

function checkLimits(files: readonly FileRow[]): void {
  if (files.length > releaseFilesMax)
    throw fail('payload_too_large', { detail: `A release can have at most ${releaseFilesMax} files.` });
  const at = files.findIndex(({ size }) => size > releaseFileBytesMax);
  if (at < 0) return;
  const field = `files[${at}].size`;
  const detail = `must be at most ${releaseFileBytesMax} bytes`;
  throw fail('payload_too_large', {
    detail: `${field}: ${detail}.`,
    errors: [{ field, code: 'too_large', detail }],
  });
}

export function checkKnownSizes(files: readonly FileRow[], known: ReadonlyMap<string, number>): void {
  for (const [at, { sha256, size }] of files.entries()) {
    if ((known.get(sha256) ?? size) !== size)
      throw validationError(`files[${at}].size`, 'is not the size of the stored file with this digest');
  }
}

function checkPaths(files: readonly FileRow[]): void {
  const errors = [];
  for (const [at, { path }] of files.entries()) {
    const fault = sitePathFault(path);
    if (fault === null) continue;
    errors.push({ field: `files[${at}].path`, code: 'invalid_path', detail: `${quotePath(path)} ${fault}` });
    if (errors.length === errorsMax) break;
  }
  const [first] = errors;
  if (first) throw fail('invalid_path', { detail: `${first.field}: ${first.detail}.`, errors });
}

function checkCollisions(files: readonly FileRow[]): void {
  const paths = files.map(({ path }) => path);
  const clash = sitePathClash(paths);
  if (!clash) return;
  const field = `files[${paths.lastIndexOf(clash.path)}].path`;
  const detail = `${quotePath(clash.path)} is the same as ${quotePath(clash.other)} on some file systems`;
  throw fail('path_collision', {
    detail: `${field}: ${detail}.`,
    errors: [{ field, code: 'path_collision', detail }],
  });
}

export function checkConfigSize(config: SiteConfig, field: string): void {
  if (Buffer.byteLength(JSON.stringify(config)) > siteConfigBytesMax)
    throw validationError(field, `must be at most ${siteConfigBytesMax} bytes as JSON`);
}
