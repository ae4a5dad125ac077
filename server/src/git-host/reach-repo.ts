import { gitOwnerPattern, gitRepoNamePattern } from '@svc/contract/git-names.ts';
import { ownedAppIds } from '../apps/owned-app-ids.ts';
import { reposOfApps } from '../git-connections/repos-of-apps.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { findRepoRow, type RepoRow } from './repos-store.ts';
import type { Principal, UserPrincipal } from './who-asks.ts';

export interface Owner {
  id: string;
  slug: string;
}

export interface ReachedRepo {
  repo: RepoRow;
  owner: Owner;
  canFetch: boolean;
  canPush: boolean;
}

/** The tenant of a name, where the one who asks is in it; null alike for none. */
export async function reachOwner(
  parts: GitHostParts,
  principal: Principal,
  name: string,
): Promise<Owner | null> {
  if (!gitOwnerPattern.test(name)) return null;
  const tenant =
    principal.kind === 'user'
      ? await parts.tenantAccess(name.toLowerCase(), principal)
      : await findTenant({ db: parts.db }, { ref: name.toLowerCase() });
  // Owners are known by their slugs alone.
  if (!tenant || tenant.slug !== name.toLowerCase()) return null;
  if (principal.kind === 'installation' && principal.tenantId !== tenant.id) return null;
  return { id: tenant.id, slug: tenant.slug };
}

/** A repository with what the one who asks may do with it; null alike for none and for one that is not theirs to see. */
export async function reachRepo(
  parts: GitHostParts,
  principal: Principal,
  name: { owner: string; repo: string },
): Promise<ReachedRepo | null> {
  if (!gitRepoNamePattern.test(name.repo)) return null;
  const owner = await reachOwner(parts, principal, name.owner);
  const repo = owner ? await findRepoRow(parts.db, owner.id, name.repo) : undefined;
  if (!owner || !repo) return null;
  if (principal.kind === 'app') return { repo, owner, canFetch: false, canPush: false };
  if (principal.kind === 'installation') {
    const { repoIds, mayWrite } = principal;
    const isIncluded = repoIds === null || repoIds.includes(repo.id);
    return isIncluded ? { repo, owner, canFetch: true, canPush: mayWrite } : null;
  }
  return reachAsUser(parts, principal, { repo, owner });
}

async function reachAsUser(
  parts: GitHostParts,
  { userId, scope }: UserPrincipal,
  { repo, owner }: Pick<ReachedRepo, 'repo' | 'owner'>,
): Promise<ReachedRepo | null> {
  const apps = (await connectedRepos(parts, { tenantId: owner.id, userId }))
    .filter(({ repoId }) => repoId === repo.id)
    .map(({ appId }) => appId);
  const isOwn = repo.created_by === userId || apps.length > 0;
  if (!isOwn && repo.is_private) return null;
  if (scope === null) return { repo, owner, canFetch: true, canPush: isOwn };
  if (scope.tenantId !== owner.id) return null;
  if (scope.apps.length > 0 && !apps.some((app) => scope.apps.includes(app))) return null;
  const [canFetch, mayPush] = [scope.actions.includes('read'), scope.actions.includes('write')];
  return { repo, owner, canFetch, canPush: isOwn && mayPush };
}

/** Repositories that somebody reaches by an app that they own or co-own. */
export async function connectedRepos(
  { db, urls }: Pick<GitHostParts, 'db' | 'urls'>,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<{ appId: string; repoId: number }[]> {
  const appIds = await ownedAppIds(db, tenantId, { userId });
  return reposOfApps(db, tenantId, { host: urls.web, appIds });
}
