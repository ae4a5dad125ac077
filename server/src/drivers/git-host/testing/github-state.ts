import { createPublicKey, randomBytes, verify } from 'node:crypto';
import * as answers from './github-answers.ts';
import type { GitHubServer } from './github-server.ts';

export interface StoredRepo extends answers.RepoFacts {
  folder: string;
  hooks: { id: number; url: string; events: string[]; secret: string }[];
  /** Logins of those who push; members of its owner see it and push, too. */
  collaborators: Set<string>;
}

export type Principal =
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
export const newId = () => ++lastId;
export const token = (kind: 'u' | 's') => `gh${kind}_${randomBytes(18).toString('hex')}`;

export interface Call {
  state: GitHubState;
  credential: Principal | null;
  request: Request;
  url: URL;
  folder: string;
}

export type Handler = (call: Call, names: string[]) => Response | Promise<Response>;
export type Handlers = readonly [RegExp, Handler][];

export const repoPath = '/repos/([^/]+)/([^/]+)';

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
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
export const refuse = (message: string, status: number) => json(answers.basicError(message, status), status);
export const notFound = () => refuse('Not Found', 404);

export function principalOf({ tokens, server }: GitHubState, request: Request): Principal | 'bad' | null {
  const [, scheme = '', value = ''] = /^(\w+) (.+)$/.exec(request.headers.get('authorization') ?? '') ?? [];
  if (!value) return null;
  const secret = /basic/i.test(scheme) ? Buffer.from(value, 'base64').toString().split(':')[1] : value;
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(secret ?? ''))
    return isOfApp(server, secret ?? '') ? { kind: 'app' } : 'bad';
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

/** By `Link`, as GitHub does it; 30 unless more are asked for, and 100 at most. */
export function paged<T>({ place }: GitHubState, url: URL, all: readonly T[]) {
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

/** Signed with the key of the app, by its number, and for ten minutes at most. */
function isOfApp({ privateKey, appId }: GitHubServer, jwt: string): boolean {
  const [head = '', body = '', signature = ''] = jwt.split('.');
  const signed = Buffer.from(`${head}.${body}`);
  const key = createPublicKey(privateKey);
  if (!verify('RSA-SHA256', signed, key, Buffer.from(signature, 'base64url'))) return false;
  const { iss, iat, exp } = JSON.parse(Buffer.from(body, 'base64url').toString());
  const now = Date.now() / 1000;
  return String(iss) === String(appId) && iat <= now && exp > now && exp - iat <= 660;
}
