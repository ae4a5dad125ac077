import { createPublicKey } from 'node:crypto';
import { importSPKI, jwtVerify } from 'jose';
import { isWellFormedPat } from '../identity/pat-format.ts';
import type { TokenScope } from '../plumbing/context.ts';
import { findUser } from '../users/find-user.ts';
import { findInstallation } from './accounts-store.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { isSignedToken, readSignedToken, type SignedToken } from './signed-token.ts';
import { findToken, isKeptToken } from './tokens-store.ts';

/** Who sends a request to the host. */
export type Principal = { kind: 'app' } | UserPrincipal | InstallationPrincipal;

export interface InstallationPrincipal {
  kind: 'installation';
  installationId: number;
  tenantId: string;
  /** Null: all of the tenant's. */
  repoIds: readonly number[] | null;
  mayWrite: boolean;
}

export interface UserPrincipal {
  kind: 'user';
  userId: string;
  email: string;
  name: string;
  /** What a personal access token of the platform is limited to. */
  scope: TokenScope | null;
}

const secretPattern = /^[\w.~+/=-]{1,4000}$/;
const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** As the host that it speaks like has it. */
const jwtSecondsMax = 600;
const skewSeconds = 60;

/** What stands behind `Bearer`, `token`, or as the password of `Basic`, whatever the user name is; null: nothing. */
export function presentedSecret(request: Request): string | null {
  const [, scheme = '', value = ''] = /^(\w+) +(\S+)$/.exec(request.headers.get('authorization') ?? '') ?? [];
  const secret = /^basic$/i.test(scheme) ? passwordOf(value) : /^(bearer|token)$/i.test(scheme) ? value : '';
  return secretPattern.test(secret) ? secret : null;
}

/** Some programs send a token as the user name, with no password or a word in its place. */
function passwordOf(encoded: string): string {
  const [name = '', password = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(/:(.*)/s);
  return password === '' || password === 'x-oauth-basic' ? name : password;
}

/** A token of the host, a statement that its app signed, or a login to the platform; what others hold for rows is none. */
export async function whoAsksApi(parts: GitHostParts, request: Request): Promise<Principal | null> {
  const secret = presentedSecret(request);
  if (secret === null) return null;
  if (jwtPattern.test(secret)) return (await isSignedByApp(parts, secret)) ? { kind: 'app' } : null;
  if (isHostToken(secret)) return ofHostToken(parts, secret);
  return ofPlatform(parts, { authorization: `Bearer ${secret}` });
}

/** For git itself credentials of the platform count as well. */
export async function whoAsksGit(parts: GitHostParts, request: Request): Promise<Principal | null> {
  const secret = presentedSecret(request);
  if (secret === null) return null;
  if (isHostToken(secret)) return ofHostToken(parts, secret);
  return ofPlatform(
    parts,
    isWellFormedPat(secret) ? { 'x-api-key': secret } : { authorization: `Bearer ${secret}` },
  );
}

async function ofPlatform(
  { findCredential, baseUrl }: GitHostParts,
  headers: Record<string, string>,
): Promise<UserPrincipal | null> {
  const credential = await findCredential(new Request(baseUrl, { headers }));
  // What was issued to an app counts for that app's rows only.
  if (!credential || credential.caller.throughApp !== undefined) return null;
  const { userId, email, name, scope } = credential.caller;
  return { kind: 'user', userId, email, name, scope: scope ?? null };
}

const isHostToken = (secret: string) => isSignedToken(secret) || isKeptToken(secret);

async function ofHostToken(parts: GitHostParts, secret: string): Promise<Principal | null> {
  const { db, now, tokenKey } = parts;
  if (isSignedToken(secret)) {
    const signed = readSignedToken(tokenKey, secret, now());
    return signed && ofSignedToken(parts, signed);
  }
  const token = await findToken(db, secret);
  if (!token || token.kind === 'refresh' || token.expires_at <= now()) return null;
  return ofUser(parts, token.user_id);
}

async function ofSignedToken(parts: GitHostParts, token: SignedToken): Promise<Principal | null> {
  if (token.kind === 'user') return ofUser(parts, token.userId);
  const installation = await findInstallation(parts.db, token.installationId);
  if (!installation) return null;
  const { repoIds, mayWrite } = token;
  const { id: installationId, tenantId } = installation;
  return { kind: 'installation', installationId, tenantId, repoIds, mayWrite };
}

/** Whatever they hold, they count for as long as the person does. */
async function ofUser({ db }: GitHostParts, userId: string): Promise<UserPrincipal | null> {
  const user = await findUser({ db }, { ref: userId });
  if (user?.status !== 'active') return null;
  return { kind: 'user', userId: user.id, email: user.email, name: user.name, scope: null };
}

async function isSignedByApp({ app, now }: GitHostParts, jwt: string): Promise<boolean> {
  const publicKey = createPublicKey(app.privateKey).export({ type: 'spki', format: 'pem' }).toString();
  try {
    const { payload } = await jwtVerify(jwt, await importSPKI(publicKey, 'RS256'), {
      algorithms: ['RS256'],
      clockTolerance: skewSeconds,
      currentDate: now(),
      requiredClaims: ['iss', 'iat', 'exp'],
    });
    const { iss, iat = 0, exp = 0 } = payload;
    const isOurs = String(iss) === String(app.appId) || iss === app.clientId;
    return isOurs && exp - iat <= jwtSecondsMax + skewSeconds;
  } catch {
    return false;
  }
}
