import type { components } from '@octokit/openapi-types';

/**
 * Answers of api.github.com as its documentation shows them, whole, with what differs put in. The compiler holds them to
 * the description of the API that GitHub itself publishes.
 */
type Schemas = components['schemas'];

export interface Place {
  web: string;
  api: string;
}

export interface Account {
  id: number;
  login: string;
  type: 'User' | 'Organization';
}

export interface RepoFacts {
  id: number;
  owner: Account;
  name: string;
  isPrivate: boolean;
  description: string | null;
  sizeKb: number;
}

const at = '2011-01-26T19:01:12Z';

export function simpleUser({ api, web }: Place, { id, login, type }: Account): Schemas['simple-user'] {
  const url = `${api}/users/${login}`;
  return {
    login,
    id,
    node_id: Buffer.from(`04:User${id}`).toString('base64'),
    avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=4`,
    gravatar_id: '',
    url,
    html_url: `${web}/${login}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type,
    site_admin: false,
  };
}

export function authenticatedUser(place: Place, account: Account): Schemas['public-user'] {
  return {
    ...simpleUser(place, account),
    name: 'monalisa octocat',
    company: 'GitHub',
    blog: 'https://github.com/blog',
    location: 'San Francisco',
    email: 'octocat@github.com',
    hireable: false,
    bio: 'There once was...',
    twitter_username: 'monatheoctocat',
    public_repos: 2,
    public_gists: 1,
    followers: 20,
    following: 0,
    created_at: '2008-01-14T04:33:35Z',
    updated_at: '2008-01-14T04:33:35Z',
  };
}

export function installation(
  place: Place,
  { id, account, appId }: { id: number; account: Account; appId: number },
): Schemas['installation'] {
  const kind = account.type === 'Organization' ? 'organizations' : 'users';
  return {
    id,
    account: simpleUser(place, account),
    access_tokens_url: `${place.api}/app/installations/${id}/access_tokens`,
    repositories_url: `${place.api}/installation/repositories`,
    html_url: `${place.web}/${kind}/${account.login}/settings/installations/${id}`,
    app_id: appId,
    target_id: account.id,
    target_type: account.type,
    permissions: {
      administration: 'write',
      contents: 'write',
      metadata: 'read',
      repository_hooks: 'write',
    },
    events: ['push'],
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    repository_selection: 'all',
    created_at: '2017-07-08T16:18:44-04:00',
    updated_at: '2017-07-08T16:18:44-04:00',
    app_slug: 'svc-test',
    suspended_at: null,
    suspended_by: null,
  };
}

export function app(place: Place, appId: number): Schemas['integration'] {
  return {
    id: appId,
    slug: 'svc-test',
    client_id: 'Iv1.0123456789abcdef',
    node_id: 'MDExOkludGVncmF0aW9uMQ==',
    owner: simpleUser(place, { id: 1, login: 'github', type: 'Organization' }),
    name: 'Svc test',
    description: '',
    external_url: 'https://example.com',
    html_url: `${place.web}/apps/svc-test`,
    created_at: '2017-07-08T16:18:44-04:00',
    updated_at: '2017-07-08T16:18:44-04:00',
    permissions: { metadata: 'read', contents: 'write' },
    events: ['push'],
  };
}

export function installationToken(
  place: Place,
  { token, expiresAt, repos }: { token: string; expiresAt: Date; repos: readonly RepoFacts[] | null },
): Schemas['installation-token'] {
  return {
    token,
    expires_at: expiresAt.toISOString().replace(/\.\d+Z$/, 'Z'),
    permissions: { administration: 'write', contents: 'write', metadata: 'read', repository_hooks: 'write' },
    ...(repos === null
      ? { repository_selection: 'all' }
      : {
          repository_selection: 'selected',
          repositories: repos.map((repo) => repository(place, repo, { push: true })),
        }),
  };
}

export function repository(
  place: Place,
  repo: RepoFacts,
  { push }: { push: boolean },
): Schemas['repository'] & Schemas['full-repository'] {
  const { id, name, owner } = repo;
  const full_name = `${owner.login}/${name}`;
  const url = `${place.api}/repos/${full_name}`;
  const html_url = `${place.web}/${full_name}`;
  return {
    id,
    node_id: Buffer.from(`010:Repository${id}`).toString('base64'),
    name,
    full_name,
    owner: simpleUser(place, owner),
    private: repo.isPrivate,
    html_url,
    description: repo.description,
    fork: false,
    url,
    archive_url: `${url}/{archive_format}{/ref}`,
    assignees_url: `${url}/assignees{/user}`,
    blobs_url: `${url}/git/blobs{/sha}`,
    branches_url: `${url}/branches{/branch}`,
    collaborators_url: `${url}/collaborators{/collaborator}`,
    comments_url: `${url}/comments{/number}`,
    commits_url: `${url}/commits{/sha}`,
    compare_url: `${url}/compare/{base}...{head}`,
    contents_url: `${url}/contents/{+path}`,
    contributors_url: `${url}/contributors`,
    deployments_url: `${url}/deployments`,
    downloads_url: `${url}/downloads`,
    events_url: `${url}/events`,
    forks_url: `${url}/forks`,
    git_commits_url: `${url}/git/commits{/sha}`,
    git_refs_url: `${url}/git/refs{/sha}`,
    git_tags_url: `${url}/git/tags{/sha}`,
    git_url: `git:${html_url.replace(/^https?:/, '')}.git`,
    issue_comment_url: `${url}/issues/comments{/number}`,
    issue_events_url: `${url}/issues/events{/number}`,
    issues_url: `${url}/issues{/number}`,
    keys_url: `${url}/keys{/key_id}`,
    labels_url: `${url}/labels{/name}`,
    languages_url: `${url}/languages`,
    merges_url: `${url}/merges`,
    milestones_url: `${url}/milestones{/number}`,
    notifications_url: `${url}/notifications{?since,all,participating}`,
    pulls_url: `${url}/pulls{/number}`,
    releases_url: `${url}/releases{/id}`,
    ssh_url: `git@github.com:${full_name}.git`,
    stargazers_url: `${url}/stargazers`,
    statuses_url: `${url}/statuses/{sha}`,
    subscribers_url: `${url}/subscribers`,
    subscription_url: `${url}/subscription`,
    tags_url: `${url}/tags`,
    teams_url: `${url}/teams`,
    trees_url: `${url}/git/trees{/sha}`,
    clone_url: `${html_url}.git`,
    mirror_url: null,
    hooks_url: `${url}/hooks`,
    svn_url: html_url,
    homepage: null,
    language: null,
    forks_count: 0,
    forks: 0,
    stargazers_count: 0,
    watchers_count: 0,
    watchers: 0,
    size: repo.sizeKb,
    default_branch: 'main',
    open_issues_count: 0,
    open_issues: 0,
    is_template: false,
    topics: [],
    has_issues: true,
    has_projects: true,
    has_wiki: true,
    has_pages: false,
    has_downloads: true,
    has_discussions: false,
    archived: false,
    disabled: false,
    visibility: repo.isPrivate ? 'private' : 'public',
    pushed_at: at,
    created_at: at,
    updated_at: at,
    permissions: { admin: false, maintain: false, push, triage: push, pull: true },
    allow_rebase_merge: true,
    allow_squash_merge: true,
    allow_auto_merge: false,
    delete_branch_on_merge: true,
    allow_merge_commit: true,
    allow_forking: true,
    web_commit_signoff_required: false,
    subscribers_count: 0,
    network_count: 0,
    license: null,
  };
}

export interface CommitFacts {
  sha: string;
  treeSha: string;
  message: string;
  parents: readonly string[];
}

export function commit(place: Place, repo: RepoFacts, facts: CommitFacts): Schemas['commit'] {
  const full = `${repo.owner.login}/${repo.name}`;
  const url = `${place.api}/repos/${full}/commits/${facts.sha}`;
  const person = { name: 'Monalisa Octocat', email: 'mona@github.com', date: '2011-04-14T16:00:49Z' };
  return {
    url,
    sha: facts.sha,
    node_id: Buffer.from(`06:Commit${facts.sha}`).toString('base64'),
    html_url: `${place.web}/${full}/commit/${facts.sha}`,
    comments_url: `${url}/comments`,
    commit: {
      url: `${place.api}/repos/${full}/git/commits/${facts.sha}`,
      author: person,
      committer: person,
      message: facts.message,
      tree: { url: `${place.api}/repos/${full}/git/trees/${facts.treeSha}`, sha: facts.treeSha },
      comment_count: 0,
      verification: {
        verified: false,
        reason: 'unsigned',
        signature: null,
        payload: null,
        verified_at: null,
      },
    },
    author: null,
    committer: null,
    parents: facts.parents.map((sha) => ({
      url: `${place.api}/repos/${full}/commits/${sha}`,
      sha,
      html_url: `${place.web}/${full}/commit/${sha}`,
    })),
    stats: { additions: 1, deletions: 0, total: 1 },
    files: [],
  };
}

export interface TreeFacts {
  path: string;
  mode: string;
  type: string;
  sha: string;
  size: number | null;
}

export function tree(
  place: Place,
  repo: RepoFacts,
  { sha, entries }: { sha: string; entries: readonly TreeFacts[] },
): Schemas['git-tree'] {
  const url = `${place.api}/repos/${repo.owner.login}/${repo.name}/git`;
  return {
    sha,
    url: `${url}/trees/${sha}`,
    tree: entries.map(({ size, ...entry }) => ({
      ...entry,
      ...(size === null ? {} : { size }),
      url: `${url}/${entry.type === 'tree' ? 'trees' : 'blobs'}/${entry.sha}`,
    })),
    truncated: false,
  };
}

export function contentFile(
  place: Place,
  repo: RepoFacts,
  file: { path: string; sha: string; bytes: Uint8Array; ref: string },
): Schemas['content-file'] {
  const full = `${repo.owner.login}/${repo.name}`;
  const self = `${place.api}/repos/${full}/contents/${file.path}?ref=${file.ref}`;
  const git = `${place.api}/repos/${full}/git/blobs/${file.sha}`;
  const html = `${place.web}/${full}/blob/${file.ref}/${file.path}`;
  // Lines of sixty, each ended, as GitHub writes them; above a mebibyte nothing.
  const isLarge = file.bytes.byteLength > 1024 * 1024;
  const content = isLarge
    ? ''
    : Buffer.from(file.bytes)
        .toString('base64')
        .replace(/(.{60})|(.+$)/g, '$1$2\n');
  return {
    type: 'file',
    encoding: isLarge ? 'none' : 'base64',
    size: file.bytes.byteLength,
    name: file.path.split('/').at(-1) ?? '',
    path: file.path,
    content,
    sha: file.sha,
    url: self,
    git_url: git,
    html_url: html,
    download_url: `https://raw.githubusercontent.com/${full}/${file.ref}/${file.path}`,
    _links: { git, self, html },
  };
}

export function hook(
  place: Place,
  repo: RepoFacts,
  facts: { id: number; url: string; events: string[] },
): Schemas['hook'] {
  const url = `${place.api}/repos/${repo.owner.login}/${repo.name}/hooks/${facts.id}`;
  return {
    type: 'Repository',
    id: facts.id,
    name: 'web',
    active: true,
    events: facts.events,
    config: { content_type: 'json', insecure_ssl: '0', url: facts.url, secret: '********' },
    updated_at: '2019-06-03T00:57:16Z',
    created_at: '2019-06-03T00:57:16Z',
    url,
    test_url: `${url}/test`,
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    last_response: { code: null, status: 'unused', message: null },
  };
}

const documentation = 'https://docs.github.com/rest';

export function basicError(message: string, status: number): Schemas['basic-error'] {
  return { message, documentation_url: documentation, status: String(status) };
}

export function validationError(
  message: string,
  error: { resource: string; field?: string; code: string; message: string },
): Schemas['validation-error'] {
  return { message, errors: [error], documentation_url: documentation };
}
