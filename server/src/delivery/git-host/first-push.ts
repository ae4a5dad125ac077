import { isGitRef } from '@svc/contract/git-names.ts';
import { fail } from '../../core/problem.ts';
import type { Principal, UserPrincipal } from './authenticate.ts';
import type { GitHostDeps, OwnedApp } from './deps.ts';
import { getTenantInstallation, type RepoRow } from './host-store.ts';
import { chooseDefaultBranch } from './pushes.ts';
import {
  type RepoOwner,
  type RepositoryAccess,
  resolveOwner,
  resolveRepository,
  storeRepository,
} from './repositories.ts';

interface FirstPush {
  repo: null;
  app: OwnedApp;
  principal: UserPrincipal;
  owner: RepoOwner;
  canFetch: false;
  canPush: boolean;
}

export async function resolveFirstPush(
  deps: GitHostDeps,
  principal: Principal,
  path: { owner: string; repo: string },
): Promise<FirstPush | null> {
  if (principal.kind !== 'user') return null;
  const { userId, scope } = principal;
  const owner = await resolveOwner(deps, principal, path.owner);
  if (!owner || (scope && scope.tenantId !== owner.id)) return null;
  const slug = path.repo.toLowerCase();
  const app = await deps.connectedApps.findOwnedApp(deps.db, { tenantId: owner.id, userId, slug });
  if (!app || (scope && scope.apps.length > 0 && !scope.apps.includes(app.id))) return null;
  const canPush = scope === null || scope.actions.includes('code');
  return { repo: null, app, principal, owner, canFetch: false, canPush };
}

export function firstPushRefusal({ app, canPush }: FirstPush): { status: 403 | 404; text: string } | null {
  if (!canPush) return null;
  if (app.connectedTo)
    return {
      status: 404,
      text: `Repository not found. ${app.slug} is connected to ${app.connectedTo.repo}: ${app.connectedTo.cloneUrl}`,
    };
  if (app.isActive) return null;
  const next = `svc apps reactivate ${app.slug} --execute`;
  return { status: 403, text: `${app.slug} is archived. Reactivate it first: ${next}` };
}

export async function createFirstRepository(
  call: { deps: GitHostDeps; info: Parameters<typeof storeRepository>[0]['info'] },
  { owner, app, principal }: FirstPush,
  branches: readonly string[],
): Promise<{ repo: RepoRow; created: string }> {
  const { deps } = call;
  const pushed = branches.filter(isGitRef).map((name) => [`refs/heads/${name}`, '']);
  const branch = chooseDefaultBranch('main', Object.fromEntries(pushed));
  const installation = await getTenantInstallation(deps.db, owner.id);
  const repo = await storeRepository(
    { ...call, principal },
    {
      owner,
      name: app.slug,
      isPrivate: true,
      description: `The app ${app.slug}.`,
      onCreated: (ctx, { id, name, is_private: isPrivate }) =>
        deps.connectedApps.connectNewRepo(ctx, {
          tenantId: owner.id,
          appId: app.id,
          userId: principal.userId,
          branch,
          repo: { id, owner: owner.slug, name, isPrivate },
          installationId: installation.id,
        }),
    },
  );
  const name = `${owner.slug}/${app.slug}`;
  if (repo)
    return { repo, created: `Created the repository ${name}, connected to ${app.slug}, branch ${branch}.\n` };
  const other = await resolveRepository(deps, principal, { owner: owner.slug, repo: app.slug });
  if (!other?.canPush) throw fail('repo_exists', { detail: `The repository ${name} already exists.` });
  return { repo: other.repo, created: '' };
}

export type PushTarget = RepositoryAccess | FirstPush;
