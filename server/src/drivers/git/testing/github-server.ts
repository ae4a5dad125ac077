import { createHmac, generateKeyPairSync } from 'node:crypto';
import { fixedKey } from '../../../core/keys.ts';
import type { TestGitHost } from '../conformance-testing.ts';
import { createOctokitGitHost } from '../octokit-git-host.ts';
import { gitText, newFolder } from './git-folder.ts';
import { handleApi } from './github-api.ts';
import { type DeviceCodes, handleDeviceFlow, newDeviceCodes } from './github-device-flow.ts';
import {
  type Access,
  type Account,
  authenticate,
  findRepo,
  type GitHubState,
  issueToken,
  newId,
  type StoredRepo,
} from './github-state.ts';

/**
 * Written from GitHub's documentation and independent of the built-in host, so that a wrong assumption is not
 * in both.
 */
interface GitHubServer extends GitHubState {
  clientId: string;
  webhookSecret: string;
  codes: DeviceCodes;
  instead: (() => Response | Promise<Response>) | null;
  requests: string[];
  stop(): Promise<void>;
}

function startGitHub(): GitHubServer {
  const folder = newFolder();
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const listening = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: 64 * 1024 * 1024,
    fetch: async (request) => {
      const url = new URL(request.url);
      server.requests.push(`${request.method} ${url.pathname}`);
      return server.instead ? server.instead() : respond(server, request, url);
    },
  });
  const web = `http://127.0.0.1:${listening.port}`;
  const server: GitHubServer = {
    web,
    clientId: 'Iv1.0123456789abcdef',
    appId: 1,
    privateKey,
    webhookSecret: 'a secret of the hooks',
    folder: folder.path,
    users: new Map(),
    installations: new Map(),
    repos: [],
    tokens: new Map(),
    codes: newDeviceCodes(),
    instead: null,
    requests: [],
    stop: async () => {
      await listening.stop(true);
      await folder.remove();
    },
  };
  return server;
}

async function respond(server: GitHubServer, request: Request, url: URL): Promise<Response> {
  const login = await handleDeviceFlow(server.codes, request, {
    web: server.web,
    clientId: server.clientId,
    issueToken: (user) => issueToken(server, { kind: 'user', login: user }),
  });
  if (login) return login;
  const credential = authenticate(server, request);
  return url.pathname.startsWith('/api/v3/')
    ? handleApi({ state: server, credential, request, url })
    : handleGit(request, (name) => findRepo(server, credential, name));
}

function newUser(server: GitHubServer, login: string) {
  const token = issueToken(server, { kind: 'user', login });
  server.users.set(login, { account: { id: newId(), login, type: 'User' }, token });
  return { login, token };
}

export function installFor(
  server: GitHubServer,
  { login, type, members }: { login: string; type: Account['type']; members: readonly string[] },
): number {
  const account = server.users.get(login)?.account ?? { id: newId(), login, type };
  const id = newId();
  server.installations.set(login, { id, account, members: new Set(members) });
  return id;
}

export function createTestClient(server: GitHubServer) {
  return createOctokitGitHost({
    ...server,
    webUrl: server.web,
    loginUrl: server.web,
    apiUrl: `${server.web}/api/v3`,
    isBuiltIn: false,
    credentials: fixedKey({ ...server, appId: String(server.appId) }),
    installUrl: (state) => `${server.web}/github-apps/svc-test/installations/new?state=${state}`,
  });
}

export async function startTestGitHub(): Promise<TestGitHost & { server: GitHubServer }> {
  const server = startGitHub();
  const [member, outsider] = [newUser(server, 'octocat'), newUser(server, 'hubot')];
  installFor(server, { login: 'octo-org', type: 'Organization', members: ['octocat'] });
  const { codes } = server;
  return {
    server,
    host: createTestClient(server),
    owner: 'octo-org',
    member,
    outsider,
    approve: async (userCode) => codes.approve(userCode, 'octocat'),
    deny: codes.deny,
    expire: codes.expire,
    wait: codes.wait,
    remove: async ({ owner, name }) => {
      const headers = { authorization: `Bearer ${member.token}` };
      await fetch(`${server.web}/api/v3/repos/${owner}/${name}`, { method: 'DELETE', headers });
    },
    another: async () => createTestClient(server),
    stop: () => server.stop(),
  };
}

/** Serves clone and push with `git http-backend`. */
async function handleGit(request: Request, findRepo: (fullName: string) => Access | null): Promise<Response> {
  const url = new URL(request.url);
  const [, fullName = '', rest = ''] = /^\/([^/]+\/[^/]+?)\.git(\/.*)$/.exec(url.pathname) ?? [];
  const found = findRepo(fullName);
  if (!request.headers.has('authorization') && !found)
    return new Response('', { status: 401, headers: { 'www-authenticate': 'Basic realm="GitHub"' } });
  const isPush = request.url.includes('git-receive-pack');
  if (!found || (isPush && !found.canPush)) return new Response('Not Found', { status: 404 });
  const { repo } = found;
  const before = await readRefs(repo);
  const child = Bun.spawn(['git', 'http-backend'], {
    env: {
      PATH: process.env.PATH ?? '',
      GIT_PROJECT_ROOT: repo.folder,
      PATH_INFO: rest,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers.get('content-type') ?? '',
      REMOTE_USER: 'octocat',
      HTTP_CONTENT_ENCODING: request.headers.get('content-encoding') ?? '',
      GIT_PROTOCOL: request.headers.get('git-protocol') ?? '',
    },
    stdin: await request.bytes(),
    stderr: 'ignore',
  });
  const bytes = await new Response(child.stdout).bytes();
  const end = Buffer.from(bytes).indexOf('\r\n\r\n');
  const head = new TextDecoder().decode(bytes.subarray(0, end)).split('\r\n');
  const headers = new Headers(head.map((line) => line.split(': ', 2) as [string, string]));
  const status = Number(headers.get('status')?.slice(0, 3) ?? 200);
  headers.delete('status');
  for (const [ref, after] of await readRefs(repo)) {
    const old = before.get(ref) ?? '0'.repeat(40);
    if (old !== after) void deliverPush(repo, { ref, before: old, after });
  }
  return new Response(bytes.subarray(end + 4), { status, headers });
}

async function readRefs({ folder }: StoredRepo): Promise<Map<string, string>> {
  const text = await gitText(folder, ['for-each-ref', '--format=%(refname) %(objectname)']);
  const lines = text.split('\n').filter(Boolean);
  return new Map(lines.map((line) => line.split(' ') as [string, string]));
}

async function deliverPush(
  { hooks, id, name, owner }: StoredRepo,
  push: { ref: string; before: string; after: string },
): Promise<void> {
  const body = JSON.stringify({
    ...push,
    created: /^0+$/.test(push.before),
    deleted: /^0+$/.test(push.after),
    forced: false,
    repository: { id, name, full_name: `${owner.login}/${name}` },
    pusher: { name: 'octocat', email: 'octocat@github.com' },
    sender: { login: 'octocat', id: 1, type: 'User' },
    installation: { id: 1 },
  });
  for (const { url, secret } of hooks) {
    const headers = {
      'content-type': 'application/json',
      'x-github-delivery': crypto.randomUUID(),
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    };
    await fetch(url, { method: 'POST', body, headers }).catch(() => {});
  }
}
