import { generateKeyPairSync } from 'node:crypto';
import { newFolder } from './git-folder.ts';
import { accountHandlers } from './github-accounts.ts';
import type * as answers from './github-answers.ts';
import { answerDeviceFlow, type DeviceCodes, newDeviceCodes } from './github-device-flow.ts';
import { hookHandlers } from './github-hooks.ts';
import { repositoryHandlers } from './github-repositories.ts';
import { answerGit } from './github-smart-http.ts';
import { type GitHubState, newId, principalOf, reach, refuse, token } from './github-state.ts';

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

const handlers = [...accountHandlers, ...repositoryHandlers, ...hookHandlers];

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
