import type { components } from '@octokit/openapi-types';
import type { BuiltInCredentials, GitHostDeps } from './deps.ts';
import type { HookRow, HostInstallation, HostUser, RepoRow } from './host-store.ts';
import type { GitHostUrls } from './paths.ts';
import type { GitCommit } from './read-repository.ts';

export const appPermissions = {
  administration: 'write',
  contents: 'write',
  metadata: 'read',
  repository_hooks: 'write',
} as const;

interface RepositoryView {
  repo: RepoRow;
  owner: { slug: string; installationId: number };
  canPush: boolean;
}

export function organizationJson(urls: GitHostUrls, { slug, installationId }: RepositoryView['owner']) {
  return accountJson(urls, { id: installationId, login: slug, type: 'Organization' });
}

export function userJson(urls: GitHostUrls, { id, login }: Pick<HostUser, 'id' | 'login'>): Account {
  return accountJson(urls, { id, login, type: 'User' });
}

function accountJson(
  urls: GitHostUrls,
  { id, login, type }: { id: number; login: string; type: 'Organization' | 'User' },
): Account {
  return {
    login,
    id,
    node_id: nodeId(type, id),
    avatar_url: '',
    url: `${urls.api}/${type === 'User' ? 'users' : 'orgs'}/${login}`,
    html_url: `${urls.web}/${login}`,
    type,
    site_admin: false,
  };
}

export function botJson(urls: GitHostUrls, { slug }: BuiltInCredentials): Account {
  return { ...userJson(urls, { id: 0, login: `${slug}[bot]` }), type: 'Bot' };
}

export function ownAccountJson(
  urls: GitHostUrls,
  { user, name, email }: { user: HostUser; name: string; email: string },
): Account & Pick<Schemas['private-user'], 'name' | 'email'> {
  return { ...userJson(urls, user), name, email };
}

export function repositoryJson(urls: GitHostUrls, { repo, owner, canPush }: RepositoryView): RepositoryJson {
  const fullName = `${owner.slug}/${repo.name}`;
  const pushedAt = (repo.pushed_at ?? repo.created_at).toISOString();
  return {
    id: repo.id,
    node_id: nodeId('Repository', repo.id),
    name: repo.name,
    full_name: fullName,
    owner: organizationJson(urls, owner),
    private: repo.is_private,
    html_url: `${urls.web}/${fullName}`,
    description: repo.description === '' ? null : repo.description,
    fork: false,
    url: `${urls.api}/repos/${fullName}`,
    clone_url: `${urls.web}/${fullName}.git`,
    default_branch: repo.default_branch,
    visibility: repo.is_private ? 'private' : 'internal',
    archived: false,
    disabled: false,
    // 0 or 1 KiB: clients only check whether the repository is empty, and measuring is expensive.
    size: repo.pushed_at === null ? 0 : 1,
    pushed_at: pushedAt,
    created_at: repo.created_at.toISOString(),
    updated_at: pushedAt,
    permissions: { admin: canPush, maintain: canPush, push: canPush, triage: canPush, pull: true },
  };
}

export function installationJson(
  { urls, app }: Pick<GitHostDeps, 'urls' | 'app'>,
  { installation, slug }: { installation: HostInstallation; slug: string },
): InstallationJson {
  const { id, createdAt } = installation;
  const { appId, slug: app_slug, clientId } = app.current();
  return {
    id,
    account: organizationJson(urls, { slug, installationId: id }),
    repository_selection: 'all',
    access_tokens_url: `${urls.api}/app/installations/${id}/access_tokens`,
    repositories_url: `${urls.api}/installation/repositories`,
    html_url: `${urls.web}/${slug}`,
    app_id: appId,
    app_slug,
    client_id: clientId,
    target_id: id,
    target_type: 'Organization',
    permissions: appPermissions,
    events: ['push'],
    created_at: createdAt.toISOString(),
    updated_at: createdAt.toISOString(),
    single_file_name: null,
    suspended_by: null,
    suspended_at: null,
  };
}

export function appJson(urls: GitHostUrls, app: BuiltInCredentials): AppJson {
  const createdAt = new Date(0).toISOString();
  return {
    id: app.appId,
    slug: app.slug,
    node_id: nodeId('Integration', app.appId),
    client_id: app.clientId,
    owner: botJson(urls, app),
    name: app.slug,
    description: null,
    external_url: urls.web,
    html_url: `${urls.web}/apps/${app.slug}`,
    created_at: createdAt,
    updated_at: createdAt,
    permissions: appPermissions,
    events: ['push'],
  };
}

export function commitJson(urls: GitHostUrls, fullName: string, commit: GitCommit): CommitJson {
  const { sha, tree, parents, author, committer, message } = commit;
  const api = (id: string) => `${urls.api}/repos/${fullName}/commits/${id}`;
  const web = (id: string) => `${urls.web}/${fullName}/commit/${id}`;
  return {
    url: api(sha),
    sha,
    node_id: Buffer.from(`Commit:${sha}`).toString('base64'),
    html_url: web(sha),
    comments_url: `${api(sha)}/comments`,
    commit: {
      url: `${urls.api}/repos/${fullName}/git/commits/${sha}`,
      author,
      committer,
      message,
      comment_count: 0,
      tree: { sha: tree, url: `${urls.api}/repos/${fullName}/git/trees/${tree}` },
    },
    author: null,
    committer: null,
    parents: parents.map((id) => ({ sha: id, url: api(id), html_url: web(id) })),
  };
}

export function hookJson(urls: GitHostUrls, fullName: string, hook: HookRow): HookJson {
  const url = `${urls.api}/repos/${fullName}/hooks/${hook.id}`;
  return {
    type: 'Repository',
    id: hook.id,
    name: 'web',
    active: hook.is_active,
    events: hook.events,
    config: {
      url: hook.url,
      content_type: hook.content_type,
      insecure_ssl: '0',
      ...(hook.secret_sealed === null ? {} : { secret: '********' }),
    },
    created_at: hook.created_at.toISOString(),
    updated_at: hook.created_at.toISOString(),
    url,
    test_url: `${url}/test`,
    ping_url: `${url}/pings`,
    last_response: { code: null, status: 'unused', message: null },
  };
}

function nodeId(kind: string, id: number): string {
  return Buffer.from(`0${kind.length}:${kind}${id}`).toString('base64');
}

type Schemas = components['schemas'];

type Account = Pick<
  Schemas['simple-user'],
  'login' | 'id' | 'node_id' | 'avatar_url' | 'url' | 'html_url' | 'type' | 'site_admin'
>;

type RepositoryJson = Pick<
  Schemas['full-repository'],
  | ('id' | 'node_id' | 'name' | 'full_name' | 'private' | 'html_url' | 'description' | 'fork' | 'url')
  | ('clone_url' | 'default_branch' | 'visibility' | 'archived' | 'disabled' | 'size')
  | ('pushed_at' | 'created_at' | 'updated_at' | 'permissions')
> & { owner: Account };

export type InstallationJson = Pick<
  Schemas['installation'],
  | ('id' | 'repository_selection' | 'access_tokens_url' | 'repositories_url' | 'html_url' | 'app_id')
  | ('target_id' | 'target_type' | 'permissions' | 'events' | 'created_at' | 'updated_at')
  | ('single_file_name' | 'app_slug' | 'suspended_by' | 'suspended_at' | 'client_id')
> & { account: Account };

type AppJson = Pick<
  NonNullable<Schemas['integration']>,
  | ('id' | 'slug' | 'node_id' | 'client_id' | 'name' | 'description' | 'external_url' | 'html_url')
  | ('created_at' | 'updated_at' | 'permissions' | 'events')
> & { owner: Account };

export type InstallationTokenJson = Pick<
  Schemas['installation-token'],
  'token' | 'expires_at' | 'permissions' | 'repository_selection'
> & { repositories?: RepositoryJson[] };

type CommitJson = Pick<
  Schemas['commit'],
  'url' | 'sha' | 'node_id' | 'html_url' | 'comments_url' | 'commit' | 'author' | 'committer' | 'parents'
>;

export type TreeJson = Pick<Schemas['git-tree'], 'sha' | 'url' | 'truncated' | 'tree'>;

export type BranchJson = Pick<
  Schemas['branch-with-protection'],
  'name' | '_links' | 'protected' | 'protection' | 'protection_url'
> & { commit: CommitJson };

export type FileJson = Schemas['content-file'];
export type SymlinkJson = Schemas['content-symlink'];
export type FolderJson = Schemas['content-directory'];

type HookJson = Pick<
  Schemas['hook'],
  | ('type' | 'id' | 'name' | 'active' | 'events' | 'config' | 'updated_at' | 'created_at' | 'url')
  | ('test_url' | 'ping_url' | 'last_response')
>;

export type RateLimitJson = Schemas['rate-limit-overview'];
export type MetaJson = Pick<Schemas['api-overview'], 'verifiable_password_authentication'>;

export type PushEvent = Pick<
  Schemas['webhook-push'],
  'ref' | 'before' | 'after' | 'created' | 'deleted' | 'forced' | 'base_ref' | 'compare'
> & {
  commits: PushCommit[];
  head_commit: PushCommit | null;
  pusher: { name: string; email: string };
  repository: Omit<RepositoryJson, 'permissions'>;
  organization: Pick<Account, 'login' | 'id'>;
  sender: Account;
  installation: { id: number; node_id: string };
};

export type PushCommit = Pick<
  NonNullable<Schemas['webhook-push']['head_commit']>,
  'id' | 'tree_id' | 'distinct' | 'message' | 'timestamp' | 'url' | 'author' | 'committer'
>;
