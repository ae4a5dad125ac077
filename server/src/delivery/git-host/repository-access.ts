import { gitOwnerPattern, gitRepoNamePattern } from '@svc/contract/git-names.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { Principal, UserPrincipal } from './authenticate.ts';
import type { GitHostDeps } from './deps.ts';
import { findRepoRow, type RepoRow } from './repos-store.ts';

export interface RepoOwner {
  id: string;
  slug: string;
}

export interface RepositoryAccess {
  repo: RepoRow;
  owner: RepoOwner;
  canFetch: boolean;
  canPush: boolean;
}

export async function resolveOwner(deps: GitHostDeps, principal: Principal, name: string) {
  if (!gitOwnerPattern.test(name)) return null;
  const tenant =
    principal.kind === 'user'
      ? await deps.tenantAccess(name.toLowerCase(), principal)
      : await findTenant({ db: deps.db }, { ref: name.toLowerCase() });
  // tenantAccess and findTenant also accept ids, which are not owner names.
  if (!tenant || tenant.slug !== name.toLowerCase()) return null;
  if (principal.kind === 'installation' && principal.tenantId !== tenant.id) return null;
  return { id: tenant.id, slug: tenant.slug };
}

export async function resolveRepository(
  deps: GitHostDeps,
  principal: Principal,
  name: { owner: string; repo: string },
): Promise<RepositoryAccess | null> {
  if (!gitRepoNamePattern.test(name.repo)) return null;
  const owner = await resolveOwner(deps, principal, name.owner);
  const repo = owner ? await findRepoRow(deps.db, owner.id, name.repo) : undefined;
  if (!owner || !repo) return null;
  if (principal.kind === 'app') return { repo, owner, canFetch: false, canPush: false };
  if (principal.kind === 'installation') {
    const { repoIds, mayWrite } = principal;
    const isIncluded = repoIds === null || repoIds.includes(repo.id);
    return isIncluded ? { repo, owner, canFetch: true, canPush: mayWrite } : null;
  }
  return resolveForUser(deps, principal, { repo, owner });
}

async function resolveForUser(
  deps: GitHostDeps,
  { userId, scope }: UserPrincipal,
  { repo, owner }: Pick<RepositoryAccess, 'repo' | 'owner'>,
): Promise<RepositoryAccess | null> {
  const apps = (await listConnectedRepos(deps, { tenantId: owner.id, userId }))
    .filter(({ repoId }) => repoId === repo.id)
    .map(({ appId }) => appId);
  const isOwn = repo.created_by === userId || apps.length > 0;
  if (!isOwn && repo.is_private) return null;
  if (scope === null) return { repo, owner, canFetch: true, canPush: isOwn };
  if (scope.tenantId !== owner.id) return null;
  if (scope.apps.length > 0 && !apps.some((app) => scope.apps.includes(app))) return null;
  const canFetch = scope.actions.includes('code');
  return { repo, owner, canFetch, canPush: isOwn && canFetch };
}

export function listConnectedRepos(
  { db, urls, connectedApps }: Pick<GitHostDeps, 'db' | 'urls' | 'connectedApps'>,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<{ appId: string; repoId: number }[]> {
  return connectedApps.listRepos(db, { tenantId, userId, host: urls.web });
}
