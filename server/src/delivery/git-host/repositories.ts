import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gitOwnerPattern, gitRepoNamePattern } from '@svc/contract/git-names.ts';
import type { Caller, MutationCtx } from '../../core/context.ts';
import { runAs } from '../../core/mutation.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { isUuid } from '../../core/values.ts';
import { createLocalLauncher, type GitLauncher, gitFolderNames } from '../../drivers/git/git-launcher.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { Principal, UserPrincipal } from './authenticate.ts';
import type { GitHostDeps } from './deps.ts';
import type { GitProcesses } from './git-processes.ts';
import { findRepoRow, insertRepoRow, type RepoRow } from './host-store.ts';

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

interface NewRepository {
  owner: RepoOwner;
  name: string;
  isPrivate: boolean;
  description: string;
  onCreated?: (ctx: MutationCtx, repo: RepoRow) => Promise<void>;
}

interface RepositoryChange {
  deps: GitHostDeps;
  info: RequestInfo;
  principal: Principal;
}

export async function storeRepository(
  change: RepositoryChange,
  { owner, name, isPrivate, description, onCreated }: NewRepository,
): Promise<RepoRow | null> {
  const { deps, principal } = change;
  const folder = Bun.randomUUIDv7();
  // The folder is created before the row, so that every row has one. A job removes folders that a crash leaves behind.
  await deps.folders.create(folder);
  let repo: RepoRow | null = null;
  try {
    repo = await changeRepositories(change, { tenantId: owner.id, name: 'createRepository' }, async (ctx) => {
      const row = await insertRepoRow(ctx.db, {
        tenant_id: owner.id,
        name,
        folder,
        is_private: isPrivate,
        description,
        created_by: principal.kind === 'user' ? principal.userId : null,
        created_at: ctx.now,
      });
      if (!row) return null;
      ctx.audit({
        action: 'gitHost.createRepository',
        target: { kind: 'repository', id: String(row.id), name: `${owner.slug}/${row.name}` },
        before: null,
        after: { name: row.name, private: row.is_private, description: row.description },
      });
      await onCreated?.(ctx, row);
      return row;
    });
  } finally {
    if (repo === null) await deps.folders.remove(folder);
  }
  return repo;
}

export function changeRepositories<T>(
  { deps, info, principal }: RepositoryChange,
  { tenantId, name }: { tenantId: string; name: string },
  useCase: (ctx: MutationCtx) => Promise<T>,
): Promise<T> {
  const change = { name: `gitHost.${name}`, auditTenantId: tenantId, requestId: info.requestId };
  return runAs({ ...deps, log: info.log }, callerFor(principal), change, useCase);
}

function callerFor(principal: Principal): Caller {
  const never = new Date(8.64e15);
  if (principal.kind === 'user') {
    const { userId, email, name } = principal;
    return { kind: 'login', userId, email, name, credentialId: '', expiresAt: never };
  }
  const by = 'operator';
  return { kind: by, userId: by, email: by, name: by, credentialId: '', expiresAt: never };
}

/** Bare repositories on disk. Folders are named by id, so that no user-chosen name becomes a path. */
export type RepositoryFolders = ReturnType<typeof openRepositoryFolders>;

const folderSettings: readonly (readonly [string, string])[] = [
  ['receive.denyNonFastForwards', 'false'],
  ['transfer.fsckObjects', 'true'],
  ['core.hooksPath', '/dev/null'],
  ['gc.auto', '2000'],
  ['gc.autoDetach', 'false'],
];

/** git holds a lock while it writes one reference or the list of them. */
const lockMsMax = 60_000;

export function openRepositoryFolders(
  dataDir: string,
  git: GitProcesses,
  launcher: GitLauncher = createLocalLauncher(),
) {
  const root = join(dataDir, gitFolderNames.repositories);

  function folderPath(folder: string): string {
    if (!isUuid(folder)) throw new Error(`Invalid repository folder: ${folder}`);
    return join(root, repositoryFolderName(folder));
  }

  return {
    root,
    path: folderPath,
    async create(folder: string): Promise<void> {
      const path = folderPath(folder);
      await launcher.makeFolder(path);
      const run = async (argv: readonly string[]) => {
        if ((await git.read(path, argv)) === null) throw new Error(`git ${argv[0]} failed.`);
      };
      await run(['init', '--quiet', '--bare', '--template=', '--initial-branch=main', path]);
      for (const [name, value] of folderSettings) await run(['config', name, value]);
    },
    /** A push whose git was killed leaves its locks behind, and git would refuse all later pushes to the branch. */
    async removeOldLocks(folder: string): Promise<void> {
      const path = folderPath(folder);
      const refs = await readdir(join(path, 'refs'), { recursive: true }).catch(() => []);
      const locks = refs.filter((name) => name.endsWith('.lock')).map((name) => join('refs', name));
      for (const name of [...locks, 'packed-refs.lock', 'HEAD.lock']) {
        const facts = await stat(join(path, name)).catch(() => null);
        if (facts && Date.now() - facts.mtimeMs > lockMsMax) await rm(join(path, name), { force: true });
      }
    },
    remove: (folder: string) => launcher.remove(folderPath(folder)),
    async listOlderThan(before: Date): Promise<string[]> {
      const names = await readdir(root).catch(() => []);
      const found: string[] = [];
      for (const name of names) {
        const folder = name.replace(/\.git$/, '');
        if (!isUuid(folder) || name !== repositoryFolderName(folder)) continue;
        const facts = await stat(join(root, name)).catch(() => null);
        if (facts && facts.birthtime < before && facts.mtime < before) found.push(folder);
      }
      return found;
    },
  };
}

/** The backup recognizes repositories by this suffix and leaves out their lock files. */
export function repositoryFolderName(folder: string): string {
  return `${folder}.git`;
}

export const removeFolderTopic = 'gitHost.removeFolder';

export function removeRepositoryFolder(folders: Pick<RepositoryFolders, 'remove'>): EffectHandler {
  return async ({ folder }) => folders.remove(String(folder));
}
