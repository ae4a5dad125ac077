import { gitRepoNamePattern } from '@svc/contract/git-names.ts';
import { z } from 'zod';
import { findTenant } from '../tenants/find-tenant.ts';
import { listOwnTenants } from '../tenants/list-own-tenants.ts';
import {
  findInstallation,
  type HostInstallation,
  hostUserOf,
  installationOfTenant,
} from './accounts-store.ts';
import { appAnswer, installationAnswer, ownAccountAnswer, permissions, repositoryAnswer } from './answers.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { forbidden, githubJson, notFound, unprocessable } from './github-answer.ts';
import type { InstallationAnswer, InstallationTokenAnswer } from './github-types.ts';
import { connectedRepos } from './reach-repo.ts';
import { findRepoRow, findRepoRowById, listRepoRows, type RepoRow } from './repos-store.ts';
import {
  asUser,
  bodyOf,
  idParam,
  pageAsked,
  pageLinks,
  param,
  type RestCall,
  reachedRepo,
} from './rest-call.ts';
import { signToken } from './signed-token.ts';

const installationTokenMs = 3600_000;

export async function getUser(call: RestCall): Promise<Response> {
  const { db, urls } = call.parts;
  const principal = asUser(call);
  const user = await hostUserOf(db, principal);
  return githubJson(ownAccountAnswer(urls, { ...principal, user }));
}

/** The tenants that somebody is in. */
export async function listUserInstallations(call: RestCall): Promise<Response> {
  const { db, now } = call.parts;
  const { userId, email, name } = asUser(call);
  const caller = { kind: 'login', userId, email, name, credentialId: '', expiresAt: now() } as const;
  const tenants = await listOwnTenants({ db, caller });
  const asked = pageAsked(call);
  const some = tenants.slice((asked.page - 1) * asked.perPage, asked.page * asked.perPage);
  const installations: InstallationAnswer[] = [];
  for (const { id, slug } of some) {
    installations.push(answerOf(call.parts, await installationOfTenant(db, id), slug));
  }
  const headers = pageLinks(call, asked, tenants.length);
  return githubJson({ total_count: tenants.length, installations }, { headers });
}

export async function listUserInstallationRepos(call: RestCall): Promise<Response> {
  const { db, urls, tenantAccess } = call.parts;
  const { userId } = asUser(call);
  const installation = await findInstallation(db, idParam(call, 'installation'));
  const tenant = installation && (await tenantAccess(installation.tenantId, { userId }));
  if (!installation || !tenant) throw notFound();
  const connected = await connectedRepos(call.parts, { tenantId: tenant.id, userId });
  const ids = connected.map(({ repoId }) => repoId);
  const asked = pageAsked(call);
  const window = { limit: asked.perPage, offset: (asked.page - 1) * asked.perPage };
  const { rows, total } = await listRepoRows(db, tenant.id, { ids, userId }, window);
  const owner = { slug: tenant.slug, installationId: installation.id };
  const repositories = rows.map((repo) =>
    repositoryAnswer(urls, { repo, owner, canPush: repo.created_by === userId || ids.includes(repo.id) }),
  );
  const headers = pageLinks(call, asked, total);
  return githubJson({ total_count: total, repository_selection: 'all', repositories }, { headers });
}

export async function getApp(call: RestCall): Promise<Response> {
  asApp(call);
  return githubJson(appAnswer(call.parts.urls, call.parts.app));
}

export async function getAppInstallation(call: RestCall): Promise<Response> {
  asApp(call);
  const { installation, slug } = await installationById(call);
  return githubJson(answerOf(call.parts, installation, slug));
}

/** Of a repository or of its owner; people own nothing here, so that none has the app installed. */
export async function findInstallationOf(call: RestCall): Promise<Response> {
  asApp(call);
  const { db } = call.parts;
  const owner =
    'repo' in call.params
      ? (await reachedRepo(call)).owner
      : await findTenant({ db }, { ref: param(call, 'owner').toLowerCase() });
  if (!owner || (!('repo' in call.params) && owner.slug !== param(call, 'owner').toLowerCase()))
    throw notFound();
  return githubJson(answerOf(call.parts, await installationOfTenant(db, owner.id), owner.slug));
}

const TokenBody = z.object({
  repositories: z.array(z.string()).max(500).optional(),
  repository_ids: z.array(z.int()).max(500).optional(),
  permissions: z.record(z.string(), z.string()).optional(),
});

export async function createInstallationToken(call: RestCall): Promise<Response> {
  asApp(call);
  const { urls, now, tokenKey } = call.parts;
  const { installation, slug } = await installationById(call);
  const body = await bodyOf(call, TokenBody, 'InstallationToken');
  const repos = await namedRepos(call.parts, installation.tenantId, body);
  const granted = grantedOf(body.permissions);
  const at = now();
  const expiresAt = new Date(at.getTime() + installationTokenMs);
  const token = signToken(tokenKey, {
    kind: 'installation',
    installationId: installation.id,
    repoIds: repos?.map(({ id }) => id) ?? null,
    mayWrite: granted.contents === 'write',
    until: expiresAt.getTime(),
  });
  const owner = { slug, installationId: installation.id };
  const answer: InstallationTokenAnswer = {
    token,
    expires_at: expiresAt.toISOString(),
    permissions: granted,
    repository_selection: repos === null ? 'all' : 'selected',
    ...(repos && {
      repositories: repos.map((repo) => repositoryAnswer(urls, { repo, owner, canPush: true })),
    }),
  };
  return githubJson(answer, { status: 201 });
}

/** At most what the app has. */
function grantedOf(
  asked: Record<string, string> | undefined,
): NonNullable<InstallationTokenAnswer['permissions']> {
  if (!asked) return permissions;
  for (const [name, level] of Object.entries(asked)) {
    const has = Object.hasOwn(permissions, name) ? permissions[name as keyof typeof permissions] : undefined;
    if (has === undefined || (level !== 'read' && level !== has))
      throw unprocessable({ resource: 'InstallationToken', field: 'permissions', code: 'invalid' });
  }
  return { ...asked, metadata: 'read' };
}

/** Null: no choice was made. */
async function namedRepos(
  { db }: GitHostParts,
  tenantId: string,
  body: z.output<typeof TokenBody>,
): Promise<RepoRow[] | null> {
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
    throw unprocessable({ resource: 'InstallationToken', field: 'repositories', code: 'invalid' });
  return own;
}

function asApp({ principal }: RestCall): void {
  if (principal.kind !== 'app') throw forbidden();
}

async function installationById(call: RestCall): Promise<{ installation: HostInstallation; slug: string }> {
  const { db } = call.parts;
  const installation = await findInstallation(db, idParam(call, 'installation'));
  const tenant = installation && (await findTenant({ db }, { ref: installation.tenantId }));
  if (!installation || !tenant) throw notFound();
  return { installation, slug: tenant.slug };
}

function answerOf(
  { urls, app }: GitHostParts,
  installation: HostInstallation,
  slug: string,
): InstallationAnswer {
  return installationAnswer(urls, app, { installation, slug });
}
