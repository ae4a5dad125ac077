import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { git, gitText, readCommit, readTree } from './git-folder.ts';
import * as answers from './github-answers.ts';
import {
  type Call,
  type Handlers,
  json,
  newId,
  notFound,
  reach,
  refuse,
  repoPath,
  type StoredRepo,
} from './github-state.ts';

/** Repositories and what is in them. */
export const repositoryHandlers: Handlers = [
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
    new RegExp(`^DELETE ${repoPath}$`),
    async ({ state, credential }, [owner, name]) => {
      const found = reach(state, credential, `${owner}/${name}`);
      if (!found?.canPush) return found ? refuse('Must have admin rights to Repository.', 403) : notFound();
      state.repos.splice(state.repos.indexOf(found.repo), 1);
      await rm(found.repo.folder, { recursive: true, force: true });
      return new Response(null, { status: 204 });
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
];

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
