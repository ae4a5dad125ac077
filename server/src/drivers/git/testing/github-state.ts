import { createPublicKey, randomBytes, verify } from 'node:crypto';

export interface Account {
  id: number;
  login: string;
  type: 'User' | 'Organization';
}

export interface Installed {
  id: number;
  account: Account;
  members: Set<string>;
}

export interface StoredRepo {
  id: number;
  owner: Account;
  name: string;
  isPrivate: boolean;
  description: string | null;
  folder: string;
  hooks: { id: number; url: string; events: string[]; secret: string }[];
}

export type Principal =
  | { kind: 'app' }
  | { kind: 'user'; login: string }
  | { kind: 'installation'; account: string; repos: ReadonlySet<number> | null };

export interface GitHubState {
  web: string;
  appId: number;
  privateKey: string;
  folder: string;
  users: Map<string, { account: Account; token: string }>;
  installations: Map<string, Installed>;
  repos: StoredRepo[];
  tokens: Map<string, Principal>;
}

let lastId = 1000;
export const newId = () => ++lastId;

export function issueToken({ tokens }: GitHubState, principal: Principal): string {
  const token = `gh${principal.kind === 'user' ? 'u' : 's'}_${randomBytes(18).toString('hex')}`;
  tokens.set(token, principal);
  return token;
}

export function authenticate(state: GitHubState, request: Request): Principal | 'bad' | null {
  const [scheme = '', value] = (request.headers.get('authorization') ?? '').split(' ');
  if (!value) return null;
  const secret = /basic/i.test(scheme) ? Buffer.from(value, 'base64').toString().split(':')[1] : value;
  if (secret?.split('.').length === 3) return isAppJwt(state, secret) ? { kind: 'app' } : 'bad';
  return state.tokens.get(secret ?? '') ?? 'bad';
}

/** A JWT signed with the app's key, for ten minutes at most. */
function isAppJwt({ privateKey, appId }: GitHubState, jwt: string): boolean {
  const [head = '', body = '', signature = ''] = jwt.split('.');
  const key = createPublicKey(privateKey);
  if (!verify('RSA-SHA256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url')))
    return false;
  const { iss, iat, exp } = JSON.parse(Buffer.from(body, 'base64url').toString());
  const now = Date.now() / 1000;
  return String(iss) === String(appId) && iat <= now && exp > now && exp - iat <= 660;
}

export interface Access {
  repo: StoredRepo;
  canPush: boolean;
}

export function findRepo(
  { repos, installations }: GitHubState,
  credential: Principal | 'bad' | null,
  fullName: string,
): Access | null {
  const repo = repos.find(
    ({ owner, name }) => `${owner.login}/${name}`.toLowerCase() === fullName.toLowerCase(),
  );
  if (!repo || credential === 'bad') return null;
  const owner = repo.owner.login;
  let canPush = false;
  if (credential?.kind === 'user')
    canPush =
      credential.login === owner || (installations.get(owner)?.members.has(credential.login) ?? false);
  if (credential?.kind === 'installation')
    canPush = credential.account === owner && (credential.repos?.has(repo.id) ?? true);
  return canPush || !repo.isPrivate ? { repo, canPush } : null;
}
