import { conflictError } from '../../apps/record/apps.ts';
import { filterFreeSlugs, findApp, findAppById } from '../../apps/record/find-app.ts';
import { type AppAccess, ownsApp, type TenantAccess, type TenantCtx } from '../../core/context.ts';
import { Failure, fail } from '../../core/problem.ts';
import type { DeviceGrant, Installation, RepoName } from '../../drivers/git/git-host.ts';
import type { RunMode } from '../../http/router.ts';
import { findMember } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { type Connection, findConnection } from '../git-connections/connections.ts';
import { requestDeviceCode } from '../git-connections/link-flow.ts';
import type { GitDeps, TenantUser } from '../git-connections/rules.ts';
import { getUserToken, hasGitAccount, withGitUser } from '../git-connections/user-tokens.ts';
import type { BootstrapDeps, RepoRequest } from './rules.ts';

export interface HostCheck {
  isLinked: boolean;
  grant: DeviceGrant | null;
}

/** A preview does not contact the git host and renews no tokens. */
export async function checkHost(
  deps: BootstrapDeps,
  ctx: TenantCtx,
  { slug, repo, mode }: { slug: string; repo: RepoRequest; mode: RunMode },
): Promise<HostCheck> {
  const { gitHost: host } = deps;
  // Before the repository, whose name defaults to the slug.
  if ((await filterFreeSlugs(ctx.db, ctx.tenant.id, [slug])).length === 0) throw conflictError('slug', slug);
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  if (mode === 'preview') return { isLinked: await hasGitAccount(deps, who), grant: null };
  if (!(await isLinked(deps, who)))
    return { isLinked: false, grant: await requestDeviceCode(deps, { mode }) };
  const { id, account } = await resolveInstallation(deps, { repo, tenantSlug: ctx.tenant.slug, who });
  const owner = account.login;
  if (await host.asInstallation(id).repository({ owner, name: repo.name }))
    throw fail('repo_exists', { detail: `The repository ${owner}/${repo.name} already exists.` });
  return { isLinked: true, grant: null };
}

async function isLinked(deps: BootstrapDeps, who: TenantUser): Promise<boolean> {
  try {
    await getUserToken(deps, who);
    return true;
  } catch (error) {
    if (error instanceof Failure && error.code === 'git_account_required') return false;
    throw error;
  }
}

interface InstallationRequest {
  repo: Pick<RepoRequest, 'owner' | 'installationId'>;
  tenantSlug: string;
  who: TenantUser;
}
type InstallationDeps = Pick<GitDeps, 'db' | 'gitHost' | 'now'>;

/** The installation whose account will own the repository. The user's own git account must have access to it. */
export async function resolveInstallation(deps: InstallationDeps, request: InstallationRequest) {
  const accessible = await withGitUser(deps, request.who, (user) => user.installations());
  const found = await findInstallation(deps, request, accessible);
  if (!found) throw missingInstallationError(request);
  const { owner } = request.repo;
  const isOwner = owner === null || owner.toLowerCase() === found.account.login.toLowerCase();
  if (!isOwner || !accessible.some(({ id }) => id === found.id)) throw fail('installation_mismatch');
  return found;
}

async function findInstallation(
  deps: InstallationDeps,
  { repo, tenantSlug, who }: InstallationRequest,
  accessible: readonly Installation[],
): Promise<Installation | null> {
  const { gitHost: host } = deps;
  if (repo.installationId !== null) return host.installation(repo.installationId);
  if (repo.owner !== null) return host.installationOfOwner(repo.owner);
  if (host.isBuiltIn) return host.installationOfOwner(tenantSlug);
  if (accessible.length === 1) return accessible[0] ?? null;
  const { id } = await withGitUser(deps, who, (user) => user.account());
  return accessible.find(({ account }) => account.id === id) ?? null;
}

function missingInstallationError({ repo }: InstallationRequest) {
  return fail('installation_missing', {
    detail:
      repo.owner === null && repo.installationId === null
        ? 'No installation of the git host app could be selected; specify the owner of the repository.'
        : 'The git host app is not installed for that owner.',
  });
}

export async function canReadCode(deps: BootstrapDeps, source: ForkSource, reader: TenantUser) {
  const connection = await findConnection(deps.db, { tenantId: source.tenant.id, appId: source.app.id });
  const access = codeAccess(source, connection, deps.gitHost);
  if (access !== 'by_account' || !connection) return access === 'open';
  return canReadRepository(deps, reader, connection.repo);
}

export async function canReadRepository(deps: BootstrapDeps, who: TenantUser, repo: RepoName) {
  try {
    return (await withGitUser(deps, who, (user) => user.repository(repo))) !== null;
  } catch (error) {
    if (error instanceof Failure && error.code === 'git_account_required') return false;
    throw error;
  }
}

/** `by_account`: whoever can read the code at an external host, which only that host knows. */
export function codeAccess(
  { app }: ForkSource,
  connection: Pick<Connection, 'isPrivate'> | null,
  { isBuiltIn }: { isBuiltIn: boolean },
): 'open' | 'closed' | 'by_account' {
  if (!connection) return 'closed';
  if (ownsApp(app.relation) || !connection.isPrivate) return 'open';
  return isBuiltIn ? 'closed' : 'by_account';
}

export interface ForkSource {
  tenant: TenantAccess;
  app: AppAccess;
}

/** Resolved as a plain member: admins have no access to code. An id may name an app of another tenant of the caller. */
export async function findForkSource(ctx: TenantCtx, { ref }: { ref: string }): Promise<ForkSource> {
  const tenant = await findSourceTenant(ctx, ref);
  const app = tenant && (await findApp(ctx.db, tenant, { ref, caller: ctx.caller }));
  if (!app || app.previewOf !== null) throw fail('not_found', { detail: 'The app to fork does not exist.' });
  return { tenant, app };
}

async function findSourceTenant(ctx: TenantCtx, ref: string): Promise<TenantAccess | null> {
  const app = await findAppById(ctx, { id: ref });
  if (!app || app.tenantId === ctx.tenant.id) return { ...ctx.tenant, role: 'tenant_member' };
  const member = await findMember(ctx.db, app.tenantId, ctx.caller.userId);
  const tenant = member?.status === 'active' ? await findTenant(ctx, { ref: app.tenantId }) : null;
  return tenant && { id: tenant.id, slug: tenant.slug, name: tenant.name, role: 'tenant_member' };
}
