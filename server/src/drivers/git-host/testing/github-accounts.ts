import * as answers from './github-answers.ts';
import {
  type Call,
  type GitHubState,
  type Handlers,
  json,
  notFound,
  paged,
  refuse,
  repoPath,
  token,
} from './github-state.ts';

/** Who one is, and where the app is installed. */
export const accountHandlers: Handlers = [
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
  const asked = (await request.json().catch(() => ({}))) as {
    repositories?: string[];
    repository_ids?: number[];
  };
  const { repositories: names = [], repository_ids: numbers = [] } = asked;
  const isLimited = asked.repositories !== undefined || asked.repository_ids !== undefined;
  const own = state.repos.filter(({ owner }) => owner.login === found.account.login);
  const repos = isLimited ? own.filter(({ id, name }) => names.includes(name) || numbers.includes(id)) : null;
  if (repos !== null && repos.length !== names.length + numbers.length)
    return refuse('There is at least one repository that does not exist or is not accessible.', 422);
  const made = token('s');
  const ids = repos && new Set(repos.map((repo) => repo.id));
  state.tokens.set(made, { kind: 'installation', account: found.account.login, repos: ids });
  const expiresAt = new Date(Date.now() + 3600_000);
  return json(answers.installationToken(state.place, { token: made, expiresAt, repos }), 201);
}
