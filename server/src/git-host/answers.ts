import type { HostInstallation, HostUser } from './accounts-store.ts';
import type { BuiltInCredentials } from './built-in-credentials.ts';
import type {
  Account,
  AppAnswer,
  CommitAnswer,
  HookAnswer,
  InstallationAnswer,
  OwnAccount,
  RepositoryAnswer,
} from './github-types.ts';
import type { HookRow } from './hooks-store.ts';
import type { GitHostUrls } from './paths.ts';
import type { GitCommit } from './read-repository.ts';
import type { RepoRow } from './repos-store.ts';

/** What the app may do where it is installed: everything that the host has. */
export const permissions = {
  administration: 'write',
  contents: 'write',
  metadata: 'read',
  repository_hooks: 'write',
} as const;

export interface AnsweredRepo {
  repo: RepoRow;
  /** The tenant's slug, and the number of its installation. */
  owner: { slug: string; installationId: number };
  canPush: boolean;
}

export function organizationAnswer(
  urls: GitHostUrls,
  { slug, installationId }: AnsweredRepo['owner'],
): Account {
  return {
    login: slug,
    id: installationId,
    node_id: nodeId('Organization', installationId),
    avatar_url: '',
    url: `${urls.api}/orgs/${slug}`,
    html_url: `${urls.web}/${slug}`,
    type: 'Organization',
    site_admin: false,
  };
}

export function userAnswer(urls: GitHostUrls, user: Pick<HostUser, 'id' | 'login'>): Account {
  return {
    login: user.login,
    id: user.id,
    node_id: nodeId('User', user.id),
    avatar_url: '',
    url: `${urls.api}/users/${user.login}`,
    html_url: `${urls.web}/${user.login}`,
    type: 'User',
    site_admin: false,
  };
}

/** The app itself, where it acts as somebody. */
export function botAnswer(urls: GitHostUrls, { slug }: BuiltInCredentials): Account {
  return { ...userAnswer(urls, { id: 0, login: `${slug}[bot]` }), type: 'Bot' };
}

export function ownAccountAnswer(
  urls: GitHostUrls,
  { user, name, email }: { user: HostUser; name: string; email: string },
): OwnAccount {
  return { ...userAnswer(urls, user), name, email };
}

export function repositoryAnswer(
  urls: GitHostUrls,
  { repo, owner, canPush }: AnsweredRepo,
): RepositoryAnswer {
  const fullName = `${owner.slug}/${repo.name}`;
  const pushedAt = (repo.pushed_at ?? repo.created_at).toISOString();
  return {
    id: repo.id,
    node_id: nodeId('Repository', repo.id),
    name: repo.name,
    full_name: fullName,
    owner: organizationAnswer(urls, owner),
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
    // In KiB, and only whether there is anything: nobody needs more, and counting costs.
    size: repo.pushed_at === null ? 0 : 1,
    pushed_at: pushedAt,
    created_at: repo.created_at.toISOString(),
    updated_at: pushedAt,
    permissions: { admin: canPush, maintain: canPush, push: canPush, triage: canPush, pull: true },
  };
}

export function installationAnswer(
  urls: GitHostUrls,
  app: BuiltInCredentials,
  { installation, slug }: { installation: HostInstallation; slug: string },
): InstallationAnswer {
  const { id, createdAt } = installation;
  return {
    id,
    account: organizationAnswer(urls, { slug, installationId: id }),
    repository_selection: 'all',
    access_tokens_url: `${urls.api}/app/installations/${id}/access_tokens`,
    repositories_url: `${urls.api}/installation/repositories`,
    html_url: `${urls.web}/${slug}`,
    app_id: app.appId,
    app_slug: app.slug,
    client_id: app.clientId,
    target_id: id,
    target_type: 'Organization',
    permissions,
    events: ['push'],
    created_at: createdAt.toISOString(),
    updated_at: createdAt.toISOString(),
    single_file_name: null,
    suspended_by: null,
    suspended_at: null,
  };
}

export function appAnswer(urls: GitHostUrls, app: BuiltInCredentials): AppAnswer {
  const made = new Date(0).toISOString();
  return {
    id: app.appId,
    slug: app.slug,
    node_id: nodeId('Integration', app.appId),
    client_id: app.clientId,
    owner: botAnswer(urls, app),
    name: app.slug,
    description: null,
    external_url: urls.web,
    html_url: `${urls.web}/apps/${app.slug}`,
    created_at: made,
    updated_at: made,
    permissions,
    events: ['push'],
  };
}

export function commitAnswer(urls: GitHostUrls, fullName: string, commit: GitCommit): CommitAnswer {
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

export function hookAnswer(urls: GitHostUrls, fullName: string, hook: HookRow): HookAnswer {
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
