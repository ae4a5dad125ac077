import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { git, gitText, newFolder, readCommit, readTree } from './git-folder.ts';
import * as answers from './github-answers.ts';
import { answerDeviceFlow, type DeviceCodes, newDeviceCodes } from './github-device-flow.ts';
import { answerGit } from './github-smart-http.ts';

/**
 * A small GitHub, for the tests of the client: written after GitHub's documentation, with real repositories. It is not
 * the built-in host, and shares nothing with it: what passes both is not only what we think that GitHub says.
 */
export interface GitHubServer {
  web: string;
  api: string;
  clientId: string;
  appId: number;
  privateKey: string;
  webhookSecret: string;
  users: Map<string, { account: answers.Account; token: string }>;
  /** Of accounts that the app is installed for, by login. */
  installations: Map<string, { id: number; account: answers.Account; members: Set<string> }>;
  codes: DeviceCodes;
  newUser(login: string): { account: answers.Account; token: string };
  /** Instead of every answer, once it is set: as a proxy would. */
  instead: (() => Response | Promise<Response>) | null;
  /** Which questions were asked. */
  asked: string[];
  stop(): Promise<void>;
}

export interface StoredRepo extends answers.RepoFacts {
  folder: string;
  hooks: { id: number; url: string; events: string[]; secret: string }[];
  /** Logins of those who push; members of its owner see it and push, too. */
  collaborators: Set<string>;
}

type Principal =
  | { kind: 'app' }
  | { kind: 'user'; login: string }
  | { kind: 'installation'; account: string; repos: ReadonlySet<number> | null };

export interface GitHubState {
  place: answers.Place;
  repos: StoredRepo[];
  tokens: Map<string, Principal>;
  server: GitHubServer;
}

let lastId = 1000;
const newId = () => ++lastId;
const token = (kind: 'u' | 's') => `gh${kind}_${randomBytes(18).toString('hex')}`;

export async function startGitHub(): Promise<GitHubServer> {
  const folder = newFolder();
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    // The form in which GitHub gives keys out.
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const listening = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: 64 * 1024 * 1024,
    fetch: async (request) => {
      const url = new URL(request.url);
      server.asked.push(`${request.method} ${url.pathname}`);
      if (server.instead) return server.instead();
      return answer(state, request, url, folder.path);
    },
  });
  const web = `http://127.0.0.1:${listening.port}`;
  const server: GitHubServer = {
    ...{ web, api: `${web}/api/v3`, clientId: 'Iv1.0123456789abcdef', appId: 1, privateKey },
    ...{ webhookSecret: 'a secret of the hooks', users: new Map(), installations: new Map() },
    ...{ codes: newDeviceCodes(), instead: null, asked: [] },
    newUser(login) {
      const made = { account: { id: newId(), login, type: 'User' as const }, token: token('u') };
      server.users.set(login, made);
      state.tokens.set(made.token, { kind: 'user', login });
      return made;
    },
    stop: async () => {
      await listening.stop(true);
      await folder.remove();
    },
  };
  const state: GitHubState = { place: { web, api: server.api }, repos: [], tokens: new Map(), server };
  return server;
}

export function installFor(
  server: GitHubServer,
  { login, type, members }: { login: string; type: answers.Account['type']; members: readonly string[] },
): number {
  const account = server.users.get(login)?.account ?? { id: newId(), login, type };
  const id = newId();
  server.installations.set(login, { id, account, members: new Set(members) });
  return id;
}

async function answer(state: GitHubState, request: Request, url: URL, folder: string): Promise<Response> {
  const { server } = state;
  const login = await answerDeviceFlow(server.codes, request, url, {
    ...{ web: server.web, clientId: server.clientId },
    issue: (who) => {
      const made = token('u');
      state.tokens.set(made, { kind: 'user', login: who });
      return made;
    },
  });
  if (login) return login;
  const path = url.pathname;
  const credential = principalOf(state, request);
  if (!path.startsWith('/api/v3/')) return answerGit(request, url, (name) => reach(state, credential, name));
  // Whoever shows a credential that is none is told so, whatever they ask for.
  if (credential === 'bad') return refuse('Bad credentials', 401);
  const question = `${request.method} ${path.slice('/api/v3'.length)}`;
  for (const [pattern, handler] of handlers) {
    const match = pattern.exec(question);
    if (!match) continue;
    const names = match.slice(1).map(decodeURIComponent);
    return handler({ state, credential, request, url, folder }, names);
  }
  return refuse('Not Found', 404);
}

interface Call {
  state: GitHubState;
  credential: Principal | null;
  request: Request;
  url: URL;
  folder: string;
}

const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-github-media-type': 'github.v3; format=json',
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': '4987',
      ...headers,
    },
  });
const refuse = (message: string, status: number) => json(answers.basicError(message, status), status);
const notFound = () => refuse('Not Found', 404);

function principalOf({ tokens }: GitHubState, request: Request): Principal | 'bad' | null {
  const [, scheme = '', value = ''] = /^(\w+) (.+)$/.exec(request.headers.get('authorization') ?? '') ?? [];
  if (!value) return null;
  const secret = /basic/i.test(scheme) ? Buffer.from(value, 'base64').toString().split(':')[1] : value;
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(secret ?? '')) return { kind: 'app' };
  return tokens.get(secret ?? '') ?? 'bad';
}

/** Null alike for what is not there and for what one may not see. */
export function reach(
  { repos, server }: GitHubState,
  who: Principal | 'bad' | null,
  fullName: string,
): { repo: StoredRepo; canPush: boolean } | null {
  const repo = repos.find(
    ({ owner, name }) => `${owner.login}/${name}`.toLowerCase() === fullName.toLowerCase(),
  );
  if (!repo || who === 'bad') return null;
  const installed = server.installations.get(repo.owner.login);
  if (who?.kind === 'user') {
    const canPush =
      who.login === repo.owner.login ||
      installed?.members.has(who.login) ||
      repo.collaborators.has(who.login);
    return canPush || !repo.isPrivate ? { repo, canPush: canPush ?? false } : null;
  }
  if (who?.kind === 'installation') {
    const isIncluded = who.account === repo.owner.login && (who.repos?.has(repo.id) ?? true);
    return isIncluded || !repo.isPrivate ? { repo, canPush: isIncluded } : null;
  }
  return repo.isPrivate ? null : { repo, canPush: false };
}

type Handler = (call: Call, names: string[]) => Response | Promise<Response>;

const repoPath = '/repos/([^/]+)/([^/]+)';
const handlers: [RegExp, Handler][] = [
  [
    /^GET \/user$/,
    ({ state, credential }) => {
      if (credential?.kind !== 'user') return refuse('Requires authentication', 401);
      const found = state.server.users.get(credential.login);
      return found ? json(answers.authenticatedUser(state.place, found.account)) : notFound();
    },
  ],
  [
    /^GET \/user\/installations$/,
    ({ state, credential, url }) => {
      if (credential?.kind !== 'user') return refuse('Requires authentication', 401);
      const all = reachedInstallations(state, credential.login).map((it) =>
        answers.installation(state.place, { ...it, appId: state.server.appId }),
      );
      const { items, headers } = paged(state, url, all);
      return json({ total_count: all.length, installations: items }, 200, headers);
    },
  ],
  [
    /^GET \/user\/installations\/(\d+)\/repositories$/,
    ({ state, credential, url }, [id]) => {
      if (credential?.kind !== 'user') return refuse('Requires authentication', 401);
      const found = reachedInstallations(state, credential.login).find((it) => it.id === Number(id));
      if (!found) return notFound();
      const all = state.repos
        .filter(({ owner }) => owner.login === found.account.login)
        .map((repo) => answers.repository(state.place, repo, { push: true }));
      const { items, headers } = paged(state, url, all);
      return json(
        { total_count: all.length, repository_selection: 'all', repositories: items },
        200,
        headers,
      );
    },
  ],
  [
    /^GET \/app$/,
    ({ state, credential }) =>
      credential?.kind === 'app' ? json(answers.app(state.place, state.server.appId)) : jsonWebTokenNeeded(),
  ],
  [
    /^GET \/app\/installations\/(\d+)$/,
    (call, [id]) => installationAnswer(call, (it) => it.id === Number(id)),
  ],
  [
    /^GET \/(?:orgs|users)\/([^/]+)\/installation$/,
    (call, [login]) => installationAnswer(call, (it) => it.account.login === login),
  ],
  [
    new RegExp(`^GET ${repoPath}/installation$`),
    (call, [owner, name]) => {
      const isThere = call.state.repos.some((it) => it.owner.login === owner && it.name === name);
      return installationAnswer(call, (it) => isThere && it.account.login === owner);
    },
  ],
  [/^POST \/app\/installations\/(\d+)\/access_tokens$/, createToken],
  [
    /^POST \/orgs\/([^/]+)\/repos$/,
    (call, [org = '']) => {
      const installed = call.state.server.installations.get(org);
      const { credential } = call;
      const mayCreate =
        credential?.kind === 'installation'
          ? credential.account === org
          : credential?.kind === 'user' && installed?.members.has(credential.login);
      if (!installed || !mayCreate) return refuse('Resource not accessible by integration', 403);
      return createRepository(call, installed.account);
    },
  ],
  [
    /^POST \/user\/repos$/,
    (call) => {
      const { credential, state } = call;
      const user = credential?.kind === 'user' ? state.server.users.get(credential.login) : undefined;
      return user
        ? createRepository(call, user.account)
        : refuse('Resource not accessible by integration', 403);
    },
  ],
  [
    new RegExp(`^GET ${repoPath}$`),
    ({ state, credential }, [owner, name]) => {
      const found = reach(state, credential, `${owner}/${name}`);
      return found ? json(answers.repository(state.place, found.repo, { push: found.canPush })) : notFound();
    },
  ],
  [
    new RegExp(`^GET ${repoPath}/commits/(.+)$`),
    async ({ state, credential }, [owner, name, ref = '']) => {
      const found = reach(state, credential, `${owner}/${name}`);
      if (!found) return notFound();
      if (!(await hasCommits(found.repo))) return refuse('Git Repository is empty.', 409);
      const facts = await readCommit(found.repo.folder, ref);
      return facts
        ? json(answers.commit(state.place, found.repo, facts))
        : refuse(`No commit found for SHA: ${ref}`, 422);
    },
  ],
  [
    new RegExp(`^GET ${repoPath}/git/trees/([0-9a-f]{40})$`),
    async ({ state, credential }, [owner, name, sha = '']) => {
      const found = reach(state, credential, `${owner}/${name}`);
      if (!found) return notFound();
      const entries = await readTree(found.repo.folder, sha);
      return entries ? json(answers.tree(state.place, found.repo, { sha, entries })) : notFound();
    },
  ],
  [new RegExp(`^GET ${repoPath}/contents/(.+)$`), getContents],
  [
    new RegExp(`^GET ${repoPath}/hooks$`),
    (call, names) =>
      withHooks(call, names, ({ state, url }, repo) => {
        const { items, headers } = paged(state, url, repo.hooks);
        return json(
          items.map((it) => answers.hook(state.place, repo, it)),
          200,
          headers,
        );
      }),
  ],
  [new RegExp(`^POST ${repoPath}/hooks$`), (call, names) => withHooks(call, names, createHook)],
  [
    new RegExp(`^DELETE ${repoPath}/hooks/(\\d+)$`),
    (call, names) =>
      withHooks(call, names, (_call, repo) => {
        const before = repo.hooks.length;
        repo.hooks = repo.hooks.filter(({ id }) => id !== Number(names[2]));
        return repo.hooks.length < before ? new Response(null, { status: 204 }) : notFound();
      }),
  ],
];

const jsonWebTokenNeeded = () => refuse('A JSON web token could not be decoded', 401);

function reachedInstallations({ server }: GitHubState, login: string) {
  return [...server.installations.values()].filter(
    ({ account, members }) => account.login === login || members.has(login),
  );
}

function installationAnswer(
  { state, credential }: Call,
  isMeant: (it: { id: number; account: answers.Account }) => boolean,
): Response {
  if (credential?.kind !== 'app') return jsonWebTokenNeeded();
  const found = [...state.server.installations.values()].find(isMeant);
  return found
    ? json(answers.installation(state.place, { ...found, appId: state.server.appId }))
    : notFound();
}

async function createToken({ state, credential, request }: Call, [id]: string[]): Promise<Response> {
  if (credential?.kind !== 'app') return jsonWebTokenNeeded();
  const found = [...state.server.installations.values()].find((it) => it.id === Number(id));
  if (!found) return notFound();
  const asked = (await request.json().catch(() => ({}))) as { repositories?: string[] };
  const repos = asked.repositories
    ? state.repos.filter(
        ({ owner, name }) => owner.login === found.account.login && asked.repositories?.includes(name),
      )
    : null;
  if (repos !== null && repos.length !== asked.repositories?.length)
    return refuse('There is at least one repository that does not exist or is not accessible.', 422);
  const made = token('s');
  const ids = repos && new Set(repos.map((repo) => repo.id));
  state.tokens.set(made, { kind: 'installation', account: found.account.login, repos: ids });
  const expiresAt = new Date(Date.now() + 3600_000);
  return json(answers.installationToken(state.place, { token: made, expiresAt, repos }), 201);
}

async function createRepository({ state, request, folder }: Call, owner: answers.Account): Promise<Response> {
  const asked = (await request.json()) as { name: string; private?: boolean; description?: string };
  const isTaken = state.repos.some((it) => it.owner.login === owner.login && it.name === asked.name);
  if (isTaken) {
    const taken = { resource: 'Repository', code: 'custom', field: 'name' };
    const message = 'name already exists on this account';
    return json(answers.validationError('Repository creation failed.', { ...taken, message }), 422);
  }
  const id = newId();
  const repo: StoredRepo = {
    ...{ id, owner, name: asked.name, isPrivate: asked.private ?? false, sizeKb: 0, hooks: [] },
    ...{ description: asked.description ?? null, folder: join(folder, `${id}.git`) },
    collaborators: new Set(),
  };
  await gitText(folder, ['init', '--quiet', '--bare', '--initial-branch', 'main', repo.folder]);
  await gitText(repo.folder, ['config', 'http.receivepack', 'true']);
  state.repos.push(repo);
  return json(answers.repository(state.place, repo, { push: true }), 201);
}

async function hasCommits({ folder }: StoredRepo): Promise<boolean> {
  return (await gitText(folder, ['for-each-ref', '--count=1'])) !== '';
}

async function getContents(
  { state, credential, url }: Call,
  [owner, name, path = '']: string[],
): Promise<Response> {
  const found = reach(state, credential, `${owner}/${name}`);
  if (!found) return notFound();
  const ref = url.searchParams.get('ref') ?? 'main';
  const { folder } = found.repo;
  const kind = await git(folder, ['cat-file', '-t', `${ref}:${path}`]);
  if (kind.code !== 0) return notFound();
  if (new TextDecoder().decode(kind.stdout).trim() === 'tree') return json([]);
  const sha = await gitText(folder, ['rev-parse', `${ref}:${path}`]);
  const { stdout: bytes } = await git(folder, ['cat-file', 'blob', sha]);
  return json(answers.contentFile(state.place, found.repo, { path, sha, bytes, ref }));
}

async function withHooks(
  call: Call,
  [owner, name]: string[],
  handle: (call: Call, repo: StoredRepo) => Response | Promise<Response>,
): Promise<Response> {
  const found = reach(call.state, call.credential, `${owner}/${name}`);
  return found?.canPush ? handle(call, found.repo) : notFound();
}

async function createHook({ state, request }: Call, repo: StoredRepo): Promise<Response> {
  const asked = (await request.json()) as {
    events?: string[];
    config: { url: string; secret?: string };
  };
  if (repo.hooks.some(({ url }) => url === asked.config.url)) {
    const message = 'Hook already exists on this repository';
    return json(
      answers.validationError('Validation Failed', { resource: 'Hook', code: 'custom', message }),
      422,
    );
  }
  const made = {
    ...{ id: newId(), url: asked.config.url, events: asked.events ?? ['push'] },
    secret: asked.config.secret ?? '',
  };
  repo.hooks.push(made);
  return json(answers.hook(state.place, repo, made), 201);
}

/** By `Link`, as GitHub does it; 30 unless more are asked for, and 100 at most. */
function paged<T>({ place }: GitHubState, url: URL, all: readonly T[]) {
  const perPage = Math.min(Number(url.searchParams.get('per_page') ?? 30), 100);
  const page = Number(url.searchParams.get('page') ?? 1);
  const last = Math.max(Math.ceil(all.length / perPage), 1);
  const to = (number: number, rel: string) => {
    const query = new URLSearchParams(url.search);
    query.set('page', String(number));
    return `<${place.web}${url.pathname}?${query}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [to(page - 1, 'prev'), to(1, 'first')] : []),
    ...(page < last ? [to(page + 1, 'next'), to(last, 'last')] : []),
  ];
  const headers: Record<string, string> = links.length > 0 ? { link: links.join(', ') } : {};
  return { items: all.slice((page - 1) * perPage, page * perPage), headers };
}

/** Tells hooks of a push, once. */
export async function tellOfPush(
  state: Pick<StoredRepo, 'hooks' | 'id' | 'name' | 'owner'>,
  push: { ref: string; before: string; after: string },
): Promise<void> {
  const zero = '0'.repeat(40);
  const body = JSON.stringify({
    ...push,
    created: push.before === zero,
    deleted: push.after === zero,
    forced: false,
    base_ref: null,
    repository: { id: state.id, name: state.name, full_name: `${state.owner.login}/${state.name}` },
    pusher: { name: 'octocat', email: 'octocat@github.com' },
    installation: { id: 1, node_id: 'MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMQ==' },
    commits: [],
    head_commit: null,
  });
  for (const { url, secret, id } of state.hooks) {
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    await fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'GitHub-Hookshot/044aadd',
        'x-github-delivery': crypto.randomUUID(),
        'x-github-event': 'push',
        'x-github-hook-id': String(id),
        'x-hub-signature-256': `sha256=${signature}`,
      },
    }).catch(() => {});
  }
}
