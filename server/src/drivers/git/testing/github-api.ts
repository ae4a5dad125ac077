import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { components } from '@octokit/openapi-types';
import { git, gitText } from './git-folder.ts';
import {
  type Access,
  type Account,
  findRepo,
  type GitHubState,
  type Installed,
  issueToken,
  newId,
  type Principal,
  type StoredRepo,
} from './github-state.ts';

interface Call {
  state: GitHubState;
  credential: Principal | null;
  request: Request;
  url: URL;
}

type Handler = (call: Call, ...params: string[]) => Response | Promise<Response>;

/** Responses have only the fields that clients read, with the types of GitHub's OpenAPI document. */
type Schema<Name extends keyof components['schemas']> = Subset<components['schemas'][Name]>;
type Subset<T> = T extends object ? { [Key in keyof T]?: Subset<T[Key]> } : T;

const json = (body: unknown, status = 200) =>
  Response.json(body, { status, headers: { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4987' } });
const errorJson = (message: string, status: number) => json({ message, status: String(status) }, status);
const notFound = () => errorJson('Not Found', 404);
const validationError = (message: string, error: Schema<'validation-error'>['errors']) =>
  json({ message, errors: error } satisfies Schema<'validation-error'>, 422);

export async function handleApi(call: Omit<Call, 'credential'> & { credential: Principal | 'bad' | null }) {
  const { credential, request, url } = call;
  if (credential === 'bad') return errorJson('Bad credentials', 401);
  const target = `${request.method} ${url.pathname.slice('/api/v3'.length)}`;
  for (const [pattern, handler] of routes) {
    const match = pattern.exec(target);
    if (match) return handler({ ...call, credential }, ...match.slice(1).map(decodeURIComponent));
  }
  return notFound();
}

const asUser =
  (handler: (call: Call, login: string, ...params: string[]) => Response): Handler =>
  (call, ...params) =>
    call.credential?.kind === 'user'
      ? handler(call, call.credential.login, ...params)
      : errorJson('Requires authentication', 401);

const asApp =
  (handler: Handler): Handler =>
  (call, ...params) =>
    call.credential?.kind === 'app'
      ? handler(call, ...params)
      : errorJson('A JSON web token could not be decoded', 401);

const onRepo =
  (handler: (call: Call, access: Access, param: string) => Response | Promise<Response>): Handler =>
  (call, owner, name, param = '') => {
    const access = findRepo(call.state, call.credential, `${owner}/${name}`);
    return access ? handler(call, access, param) : notFound();
  };

const onHooks = (handler: (call: Call, repo: StoredRepo, param: string) => Response | Promise<Response>) =>
  onRepo((call, { repo, canPush }, param) => (canPush ? handler(call, repo, param) : notFound()));

const findInstallation = (isWanted: (it: Installed, ...params: string[]) => boolean) =>
  asApp(({ state }, ...params) => {
    const found = [...state.installations.values()].find((it) => isWanted(it, ...params));
    return found ? json(installation(found)) : notFound();
  });

const handlers: Record<string, Handler> = {
  'GET /user': asUser(({ state }, login) => {
    const found = state.users.get(login);
    return found ? json(found.account satisfies Schema<'public-user'>) : notFound();
  }),
  'GET /user/installations': asUser(({ state, url }, login) => {
    const all = accessibleInstallations(state, login).map(installation);
    return json({ total_count: all.length, installations: paginate(url, all) });
  }),
  'GET /user/installations/:id/repositories': asUser(({ state, url }, login, id) => {
    const found = accessibleInstallations(state, login).find((it) => it.id === Number(id));
    if (!found) return notFound();
    const all = state.repos.filter(({ owner }) => owner.login === found.account.login);
    const repositories = paginate(url, all).map((repo) => repository(state, repo, true));
    return json({ total_count: all.length, repository_selection: 'all', repositories });
  }),
  'GET /app': asApp(({ state }) =>
    json({ id: state.appId, slug: 'svc-test', name: 'Svc test' } satisfies Schema<'integration'>),
  ),
  'GET /app/installations/:id': findInstallation((it, id) => it.id === Number(id)),
  'GET /orgs/:login/installation': findInstallation((it, login) => it.account.login === login),
  'GET /users/:login/installation': findInstallation((it, login) => it.account.login === login),
  'GET /repos/:owner/:name/installation': (call, owner, name) => {
    const isStored = call.state.repos.some((it) => it.owner.login === owner && it.name === name);
    return findInstallation((it) => isStored && it.account.login === owner)(call);
  },
  'POST /app/installations/:id/access_tokens': asApp(createToken),
  'POST /orgs/:org/repos': (call, org = '') => {
    const { state, credential } = call;
    const installed = state.installations.get(org);
    const canCreate = credential?.kind === 'user' && installed?.members.has(credential.login);
    return installed && canCreate ? createRepository(call, installed.account) : forbidden();
  },
  'POST /user/repos': (call) => {
    const { state, credential } = call;
    const user = credential?.kind === 'user' ? state.users.get(credential.login) : undefined;
    return user ? createRepository(call, user.account) : forbidden();
  },
  'GET /repos/:owner/:name': onRepo(({ state }, { repo, canPush }) => json(repository(state, repo, canPush))),
  'DELETE /repos/:owner/:name': onRepo(async ({ state }, { repo, canPush }) => {
    if (!canPush) return errorJson('Must have admin rights to Repository.', 403);
    state.repos.splice(state.repos.indexOf(repo), 1);
    await rm(repo.folder, { recursive: true, force: true });
    return new Response(null, { status: 204 });
  }),
  'GET /repos/:owner/:name/commits/*': onRepo((_call, { repo }, ref) => getCommit(repo.folder, ref)),
  'GET /repos/:owner/:name/git/trees/:sha': onRepo((_call, { repo }, sha) => getTree(repo.folder, sha)),
  'GET /repos/:owner/:name/contents/*': onRepo(({ url }, { repo }, path) =>
    getContents(repo.folder, path, url.searchParams.get('ref') ?? 'main'),
  ),
  'GET /repos/:owner/:name/hooks': onHooks(({ url }, repo) => json(paginate(url, repo.hooks).map(hook))),
  'DELETE /repos/:owner/:name/hooks/:id': onHooks((_call, repo, id) => {
    const at = repo.hooks.findIndex((it) => it.id === Number(id));
    if (at < 0) return notFound();
    repo.hooks.splice(at, 1);
    return new Response(null, { status: 204 });
  }),
  'POST /repos/:owner/:name/hooks': onHooks(async ({ request }, repo) => {
    const { events = ['push'], config } = await request.json();
    const message = 'Hook already exists on this repository';
    if (repo.hooks.some(({ url }) => url === config.url))
      return validationError('Validation Failed', [{ resource: 'Hook', code: 'custom', message }]);
    const made = { id: newId(), url: config.url, events, secret: config.secret ?? '' };
    repo.hooks.push(made);
    return json(hook(made), 201);
  }),
};

const routes = Object.entries(handlers).map(([route, handler]) => {
  const pattern = route.replace(/:\w+/g, '([^/]+)').replace('*', '(.+)');
  return [new RegExp(`^${pattern}$`), handler] as const;
});

const forbidden = () => errorJson('Resource not accessible by integration', 403);

const installation = ({ id, account }: Installed): Schema<'installation'> => ({
  id,
  account,
  repository_selection: 'all',
  suspended_at: null,
});

const hook = ({ id, url, events }: StoredRepo['hooks'][number]): Schema<'hook'> => ({
  id,
  events,
  active: true,
  config: { url, content_type: 'json' },
});

function repository({ web }: GitHubState, repo: StoredRepo, push: boolean): Schema<'full-repository'> {
  const html_url = `${web}/${repo.owner.login}/${repo.name}`;
  return {
    id: repo.id,
    name: repo.name,
    owner: repo.owner,
    private: repo.isPrivate,
    html_url,
    clone_url: `${html_url}.git`,
    description: repo.description,
    size: 0,
    default_branch: 'main',
    permissions: { push, pull: true },
  };
}

function accessibleInstallations({ installations }: GitHubState, login: string): Installed[] {
  return [...installations.values()].filter(
    ({ account, members }) => account.login === login || members.has(login),
  );
}

function paginate<T>({ searchParams }: URL, all: readonly T[]): T[] {
  const perPage = Math.min(Number(searchParams.get('per_page') ?? 30), 100);
  const page = Number(searchParams.get('page') ?? 1);
  return all.slice((page - 1) * perPage, page * perPage);
}

async function createToken({ state, request }: Call, id?: string): Promise<Response> {
  const installed = [...state.installations.values()].find((it) => it.id === Number(id));
  if (!installed) return notFound();
  const account = installed.account.login;
  const { repository_ids: ids } = await request.json().catch(() => ({}));
  const own = state.repos.filter((repo) => repo.owner.login === account).map((repo) => repo.id);
  if (ids?.some((it: number) => !own.includes(it)))
    return errorJson('There is at least one repository that does not exist or is not accessible.', 422);
  const body: Schema<'installation-token'> = {
    token: issueToken(state, { kind: 'installation', account, repos: ids ? new Set<number>(ids) : null }),
    expires_at: new Date(Date.now() + 3600_000).toISOString(),
    permissions: { contents: 'write', metadata: 'read' },
    repository_selection: ids ? 'selected' : 'all',
    repositories: ids?.map((it: number) => ({ id: it })),
  };
  return json(body, 201);
}

async function createRepository({ state, request }: Call, owner: Account): Promise<Response> {
  const body = await request.json();
  const message = 'name already exists on this account';
  if (state.repos.some((it) => it.owner.login === owner.login && it.name === body.name))
    return validationError('Repository creation failed.', [
      { resource: 'Repository', code: 'custom', message },
    ]);
  const id = newId();
  const repo: StoredRepo = {
    id,
    owner,
    name: body.name,
    isPrivate: body.private ?? false,
    description: body.description ?? null,
    folder: join(state.folder, `${id}.git`),
    hooks: [],
  };
  await gitText(state.folder, ['init', '--quiet', '--bare', '--initial-branch', 'main', repo.folder]);
  await gitText(repo.folder, ['config', 'http.receivepack', 'true']);
  state.repos.push(repo);
  return json(repository(state, repo, true), 201);
}

async function getCommit(folder: string, ref: string): Promise<Response> {
  if ((await gitText(folder, ['for-each-ref', '--count=1'])) === '')
    return errorJson('Git Repository is empty.', 409);
  const { code, stdout } = await git(folder, ['log', '-1', '--format=%H%n%T%n%B', '--end-of-options', ref]);
  if (code !== 0) return errorJson(`No commit found for SHA: ${ref}`, 422);
  const [sha, tree, ...message] = new TextDecoder().decode(stdout).trim().split('\n');
  const commit = { message: message.join('\n'), tree: { sha: tree } };
  return json({ sha, commit } satisfies Schema<'commit'>);
}

async function getTree(folder: string, sha: string): Promise<Response> {
  const { code, stdout } = await git(folder, ['ls-tree', '-r', '-t', '-l', '-z', sha]);
  if (code !== 0) return notFound();
  const lines = new TextDecoder().decode(stdout).split('\0').filter(Boolean);
  const tree = lines.map((line) => {
    const [, mode, type, object, size, path] = /^(\S+) (\S+) (\S+) +(\S+)\t(.*)$/s.exec(line) ?? [];
    return { path, mode, type, sha: object, size: size === '-' ? undefined : Number(size) };
  });
  return json({ sha, tree, truncated: false } satisfies Schema<'git-tree'>);
}

async function getContents(folder: string, path: string, ref: string): Promise<Response> {
  const kind = await git(folder, ['cat-file', '-t', `${ref}:${path}`]);
  if (kind.code !== 0) return notFound();
  if (new TextDecoder().decode(kind.stdout).trim() === 'tree') return json([]);
  const { stdout: bytes } = await git(folder, ['cat-file', 'blob', `${ref}:${path}`]);
  const isLarge = bytes.byteLength > 1024 * 1024;
  const base64 = Buffer.from(bytes)
    .toString('base64')
    .replace(/.{60}|.+$/g, '$&\n');
  const body: Schema<'content-file'> = {
    type: 'file',
    size: bytes.byteLength,
    path,
    encoding: isLarge ? 'none' : 'base64',
    content: isLarge ? '' : base64,
  };
  return json(body);
}
