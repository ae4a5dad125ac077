import { gitRepoNamePattern } from '@svc/contract/git-names.ts';
import { z } from 'zod';
import { loadKey } from '../../core/keys.ts';
import { findTenant, listOwnTenants } from '../../people/tenants/tenants.ts';
import type { GitHostDeps } from './deps.ts';
import {
  appJson,
  appPermissions,
  type InstallationJson,
  type InstallationTokenJson,
  installationJson,
  ownAccountJson,
  repositoryJson,
} from './github-json.ts';
import {
  findInstallation,
  findOrCreateHostUser,
  findRepoRow,
  findRepoRowById,
  getTenantInstallation,
  listRepoRows,
} from './host-store.ts';
import { listConnectedRepos } from './repositories.ts';
import {
  forbiddenError,
  githubResponse,
  idParam,
  notFoundError,
  pageLinks,
  pageParams,
  param,
  parseBody,
  type RestCall,
  requireRepository,
  requireUser,
  validationError,
} from './rest-call.ts';
import { gitTokenKey, signToken } from './tokens.ts';

const installationTokenMs = 3600_000;

export async function getUser(call: RestCall): Promise<Response> {
  const { db, urls } = call.deps;
  const principal = requireUser(call);
  const user = await findOrCreateHostUser(db, principal);
  return githubResponse(ownAccountJson(urls, { ...principal, user }));
}

export async function listUserInstallations(call: RestCall): Promise<Response> {
  const { db, now } = call.deps;
  const { userId, email, name } = requireUser(call);
  const caller = { kind: 'login', userId, email, name, credentialId: '', expiresAt: now() } as const;
  const tenants = await listOwnTenants({ db, caller });
  const page = pageParams(call);
  const some = tenants.slice((page.page - 1) * page.perPage, page.page * page.perPage);
  const installations: InstallationJson[] = [];
  for (const { id, slug } of some) {
    installations.push(
      installationJson(call.deps, { installation: await getTenantInstallation(db, id), slug }),
    );
  }
  const headers = pageLinks(call, page, tenants.length);
  return githubResponse({ total_count: tenants.length, installations }, { headers });
}

export async function listUserInstallationRepos(call: RestCall): Promise<Response> {
  const { db, urls, tenantAccess } = call.deps;
  const { userId } = requireUser(call);
  const installation = await findInstallation(db, idParam(call, 'installation'));
  const tenant = installation && (await tenantAccess(installation.tenantId, { userId }));
  if (!installation || !tenant) throw notFoundError();
  const connected = await listConnectedRepos(call.deps, { tenantId: tenant.id, userId });
  const ids = connected.map(({ repoId }) => repoId);
  const page = pageParams(call);
  const window = { limit: page.perPage, offset: (page.page - 1) * page.perPage };
  const { rows, total } = await listRepoRows(db, tenant.id, { ids, userId }, window);
  const owner = { slug: tenant.slug, installationId: installation.id };
  const repositories = rows.map((repo) =>
    repositoryJson(urls, { repo, owner, canPush: repo.created_by === userId || ids.includes(repo.id) }),
  );
  const headers = pageLinks(call, page, total);
  return githubResponse({ total_count: total, repository_selection: 'all', repositories }, { headers });
}

export async function getApp(call: RestCall): Promise<Response> {
  requireApp(call);
  return githubResponse(appJson(call.deps.urls, call.deps.app.current()));
}

export async function getAppInstallation(call: RestCall): Promise<Response> {
  requireApp(call);
  const { installation, slug } = await requireInstallation(call);
  return githubResponse(installationJson(call.deps, { installation, slug }));
}

export async function findInstallationForOwner(call: RestCall): Promise<Response> {
  requireApp(call);
  const { db } = call.deps;
  const owner =
    'repo' in call.params
      ? (await requireRepository(call)).owner
      : await findTenant({ db }, { ref: param(call, 'owner').toLowerCase() });
  if (!owner || (!('repo' in call.params) && owner.slug !== param(call, 'owner').toLowerCase()))
    throw notFoundError();
  const installation = await getTenantInstallation(db, owner.id);
  return githubResponse(installationJson(call.deps, { installation, slug: owner.slug }));
}

const TokenBody = z.object({
  repositories: z.array(z.string()).max(500).optional(),
  repository_ids: z.array(z.int()).max(500).optional(),
  permissions: z.record(z.string(), z.string()).optional(),
});

export async function createInstallationToken(call: RestCall): Promise<Response> {
  requireApp(call);
  const { db, urls, now } = call.deps;
  const { installation, slug } = await requireInstallation(call);
  const body = await parseBody(call, TokenBody, 'InstallationToken');
  const repos = await findSelectedRepos(call.deps, installation.tenantId, body);
  const granted = grantedPermissions(body.permissions);
  const expiresAt = new Date(now().getTime() + installationTokenMs);
  const token = signToken(await loadKey(db, gitTokenKey), {
    kind: 'installation',
    installationId: installation.id,
    repoIds: repos?.map(({ id }) => id) ?? null,
    mayWrite: granted.contents === 'write',
    until: expiresAt.getTime(),
  });
  const owner = { slug, installationId: installation.id };
  const answer: InstallationTokenJson = {
    token,
    expires_at: expiresAt.toISOString(),
    permissions: granted,
    repository_selection: repos === null ? 'all' : 'selected',
    repositories: repos?.map((repo) => repositoryJson(urls, { repo, owner, canPush: true })),
  };
  return githubResponse(answer, { status: 201 });
}

function grantedPermissions(
  requested: Record<string, string> | undefined,
): NonNullable<InstallationTokenJson['permissions']> {
  if (!requested) return appPermissions;
  for (const [name, level] of Object.entries(requested)) {
    const has = Object.hasOwn(appPermissions, name)
      ? appPermissions[name as keyof typeof appPermissions]
      : undefined;
    if (has === undefined || (level !== 'read' && level !== has))
      throw validationError({ resource: 'InstallationToken', field: 'permissions', code: 'invalid' });
  }
  return { ...requested, metadata: 'read' };
}

async function findSelectedRepos({ db }: GitHostDeps, tenantId: string, body: z.output<typeof TokenBody>) {
  if (!body.repositories && !body.repository_ids) return null;
  const found = [
    ...(body.repositories ?? []).map((name) =>
      gitRepoNamePattern.test(name) ? findRepoRow(db, tenantId, name) : undefined,
    ),
    ...(body.repository_ids ?? []).map((id) => findRepoRowById(db, id)),
  ];
  const rows = await Promise.all(found);
  const own = rows.flatMap((row) => (row?.tenant_id === tenantId ? [row] : []));
  if (own.length !== rows.length)
    throw validationError({ resource: 'InstallationToken', field: 'repositories', code: 'invalid' });
  return own;
}

function requireApp({ principal }: RestCall): void {
  if (principal.kind !== 'app') throw forbiddenError();
}

async function requireInstallation(call: RestCall) {
  const { db } = call.deps;
  const installation = await findInstallation(db, idParam(call, 'installation'));
  const tenant = installation && (await findTenant({ db }, { ref: installation.tenantId }));
  if (!installation || !tenant) throw notFoundError();
  return { installation, slug: tenant.slug };
}
