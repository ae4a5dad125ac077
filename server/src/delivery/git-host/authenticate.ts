import { createPublicKey } from 'node:crypto';
import { importSPKI, jwtVerify } from 'jose';
import type { TokenScope } from '../../core/context.ts';
import { loadKey } from '../../core/keys.ts';
import { isWellFormedPat } from '../../identity/pats/find-pat.ts';
import { findUser } from '../../people/users/users.ts';
import type { BuiltInCredentials, GitHostDeps } from './deps.ts';
import { findInstallation } from './host-store.ts';
import {
  findToken,
  gitTokenKey,
  isSignedToken,
  isStoredToken,
  readSignedToken,
  type SignedToken,
} from './tokens.ts';

export type Principal = { kind: 'app' } | UserPrincipal | InstallationPrincipal;

interface InstallationPrincipal {
  kind: 'installation';
  installationId: number;
  tenantId: string;
  repoIds: readonly number[] | null;
  mayWrite: boolean;
}

export interface UserPrincipal {
  kind: 'user';
  userId: string;
  email: string;
  name: string;
  scope: TokenScope | null;
}

const secretPattern = /^[\w.~+/=-]{1,4000}$/;
const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** GitHub's limit for app JWTs. */
const jwtSecondsMax = 600;
const skewSeconds = 60;

export function readSecret(request: Request): string | null {
  const [, scheme = '', value = ''] = /^(\w+) +(\S+)$/.exec(request.headers.get('authorization') ?? '') ?? [];
  const secret = /^basic$/i.test(scheme)
    ? basicPassword(value)
    : /^(bearer|token)$/i.test(scheme)
      ? value
      : '';
  return secretPattern.test(secret) ? secret : null;
}

/** Some clients send the token as the user name, with an empty or fixed password. */
function basicPassword(encoded: string): string {
  const [name = '', password = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(/:(.*)/s);
  return password === '' || password === 'x-oauth-basic' ? name : password;
}

export async function authenticateApi(deps: GitHostDeps, request: Request): Promise<Principal | null> {
  const secret = readSecret(request);
  if (secret === null) return null;
  if (jwtPattern.test(secret)) return (await isSignedByApp(deps, secret)) ? { kind: 'app' } : null;
  if (isHostToken(secret)) return authenticateHostToken(deps, secret);
  return authenticatePlatform(deps, { authorization: `Bearer ${secret}` });
}

export async function authenticateGit(deps: GitHostDeps, request: Request): Promise<Principal | null> {
  const secret = readSecret(request);
  if (secret === null) return null;
  if (isHostToken(secret)) return authenticateHostToken(deps, secret);
  return authenticatePlatform(
    deps,
    isWellFormedPat(secret) ? { 'x-api-key': secret } : { authorization: `Bearer ${secret}` },
  );
}

async function authenticatePlatform(
  { findCredential, baseUrl }: GitHostDeps,
  headers: Record<string, string>,
): Promise<UserPrincipal | null> {
  const credential = await findCredential(new Request(baseUrl, { headers }));
  // Tokens of apps and of service accounts give no access to code.
  if (!credential || credential.caller.throughApp !== undefined || credential.caller.ownApp) return null;
  const { userId, email, name, scope } = credential.caller;
  return { kind: 'user', userId, email, name, scope: scope ?? null };
}

const isHostToken = (secret: string) => isSignedToken(secret) || isStoredToken(secret);

async function authenticateHostToken(deps: GitHostDeps, secret: string): Promise<Principal | null> {
  const { db, now } = deps;
  if (isSignedToken(secret)) {
    const signed = readSignedToken(await loadKey(db, gitTokenKey), secret, now());
    return signed && authenticateSignedToken(deps, signed);
  }
  const token = await findToken(db, secret);
  if (!token || token.kind === 'refresh' || token.expires_at <= now()) return null;
  return loadUser(deps, token.user_id);
}

async function authenticateSignedToken(deps: GitHostDeps, token: SignedToken): Promise<Principal | null> {
  if (token.kind === 'user') return loadUser(deps, token.userId);
  const installation = await findInstallation(deps.db, token.installationId);
  if (!installation) return null;
  const { repoIds, mayWrite } = token;
  const { id: installationId, tenantId } = installation;
  return { kind: 'installation', installationId, tenantId, repoIds, mayWrite };
}

async function loadUser({ db }: GitHostDeps, userId: string): Promise<UserPrincipal | null> {
  const user = await findUser({ db }, { ref: userId });
  if (user?.status !== 'active') return null;
  return { kind: 'user', userId: user.id, email: user.email, name: user.name, scope: null };
}

async function isSignedByApp(deps: GitHostDeps, jwt: string): Promise<boolean> {
  for (const app of deps.app.accepted()) if (await isSignedWith(app, jwt, deps.now())) return true;
  return false;
}

async function isSignedWith(app: BuiltInCredentials, jwt: string, now: Date): Promise<boolean> {
  const publicKey = createPublicKey(app.privateKey).export({ type: 'spki', format: 'pem' }).toString();
  try {
    const { payload } = await jwtVerify(jwt, await importSPKI(publicKey, 'RS256'), {
      algorithms: ['RS256'],
      clockTolerance: skewSeconds,
      currentDate: now,
      requiredClaims: ['iss', 'iat', 'exp'],
    });
    const { iss, iat = 0, exp = 0 } = payload;
    const isOurs = String(iss) === String(app.appId) || iss === app.clientId;
    return isOurs && exp - iat <= jwtSecondsMax + skewSeconds;
  } catch {
    return false;
  }
}
