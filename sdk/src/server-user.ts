import { environment } from './environment.ts';

export interface AppUser {
  id: string;
  email: string;
  name: string;
  tenant: string;
  relation: 'owner' | 'co_owner' | 'member' | 'none';
}

export interface UserOptions {
  baseUrl?: string;
  appId?: string;
  keysUrl?: string;
  fetch?: (url: string, init: { signal: AbortSignal }) => Promise<Response>;
  now?: () => number;
}

export type RequestLike = { headers: HeadersLike } | HeadersLike;
type HeadersLike = Pick<Headers, 'get'> | Readonly<Record<string, string | string[] | undefined>>;

interface Claims {
  iss?: unknown;
  aud?: unknown;
  exp?: unknown;
  sub?: unknown;
  email?: unknown;
  name?: unknown;
  tenant?: unknown;
  relation?: unknown;
}

const header = 'x-svc-user';
const keysPath = '/.well-known/svc-user-keys.json';
const leewaySeconds = 10;
/** Minimum time between fetches caused by an unknown key id. */
const requestMsMin = 10_000;
/** Pause after a failed fetch, so that not every request repeats it. */
const pausedMs = 2_000;
const answerMsMax = 5_000;

interface KnownKeys {
  keys: ReadonlyMap<string, CryptoKey>;
  requestedAt: number;
  loading: Promise<void> | null;
  failure: Error | null;
}
const known = new Map<string, KnownKeys>();

/**
 * Returns null unless the header carries a valid signature of the platform, for this app, issued within the last
 * minute.
 */
export async function userOf(request: RequestLike, options: UserOptions = {}): Promise<AppUser | null> {
  const token = headerOf(request);
  if (token === null) return null;
  const env = environment();
  const baseUrl = options.baseUrl ?? env.SVC_BASE_URL;
  const appId = options.appId ?? env.SVC_APP_ID;
  if (!baseUrl || !appId) throw new Error('userOf needs baseUrl and appId, or SVC_BASE_URL and SVC_APP_ID.');
  const [head, body, signature, ...more] = token.split('.');
  if (!head || !body || !signature || more.length > 0) return null;
  const { alg, kid } = decodeJson<{ alg?: unknown; kid?: unknown }>(head) ?? {};
  if (alg !== 'ES256' || typeof kid !== 'string') return null;
  const keysUrl = options.keysUrl ?? env.SVC_USER_KEYS_URL ?? `${baseUrl}${keysPath}`;
  const key = await keyOf(keysUrl, kid, options);
  const bytes = bytesOf(signature);
  if (!key || !bytes) return null;
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
  const text = new TextEncoder().encode(`${head}.${body}`);
  if (!(await crypto.subtle.verify(algorithm, key, bytes, text))) return null;
  const claims = decodeJson<Claims>(body);
  const seconds = (options.now ?? Date.now)() / 1000;
  if (!claims || claims.iss !== baseUrl || claims.aud !== appId) return null;
  if (typeof claims.exp !== 'number' || claims.exp + leewaySeconds < seconds) return null;
  const { sub, email, name, tenant, relation } = claims;
  return {
    id: String(sub),
    email: String(email),
    name: String(name),
    tenant: String(tenant),
    relation: relation as AppUser['relation'],
  };
}

function headerOf(request: RequestLike): string | null {
  const headers = isHolder(request) ? request.headers : request;
  if (isHeaders(headers)) return headers.get(header);
  const value = headers[header];
  return typeof value === 'string' ? value : null;
}

function isHolder(request: RequestLike): request is { headers: HeadersLike } {
  return 'headers' in request && typeof request.headers === 'object';
}

function isHeaders(headers: HeadersLike): headers is Pick<Headers, 'get'> {
  return typeof headers.get === 'function';
}

/** Throws when the platform does not respond: an outage must not look like an anonymous request. */
async function keyOf(url: string, kid: string, options: UserOptions): Promise<CryptoKey | null> {
  const found = known.get(url) ?? {
    keys: new Map(),
    requestedAt: Number.NEGATIVE_INFINITY,
    loading: null,
    failure: null,
  };
  known.set(url, found);
  const key = found.keys.get(kid);
  if (key) return key;
  const now = (options.now ?? Date.now)();
  const isTime = now - found.requestedAt >= (found.failure ? pausedMs : requestMsMin);
  if (isTime && !found.loading) {
    found.requestedAt = now;
    found.loading = loadKeys(found, url, options);
  }
  await found.loading;
  const loaded = found.keys.get(kid);
  if (!loaded && found.failure) throw found.failure;
  return loaded ?? null;
}

async function loadKeys(found: KnownKeys, url: string, options: UserOptions): Promise<void> {
  try {
    found.keys = await readKeys(url, options);
    found.failure = null;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    found.failure = new Error(`The keys of the platform could not be read: ${why}`, { cause });
  } finally {
    found.loading = null;
  }
}

async function readKeys(url: string, options: UserOptions): Promise<Map<string, CryptoKey>> {
  const response = await (options.fetch ?? fetch)(url, { signal: AbortSignal.timeout(answerMsMax) });
  if (!response.ok) throw new Error(`it answered ${response.status}.`);
  const { keys } = (await response.json()) as { keys: (JsonWebKey & { kid?: string })[] };
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const read = await Promise.all(
    keys
      .filter(({ kty, crv }) => kty === 'EC' && crv === 'P-256')
      .map(async (jwk) => {
        const { kty = 'EC', crv = '', x = '', y = '' } = jwk;
        const imported = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, [
          'verify',
        ]);
        return [String(jwk.kid), imported] as const;
      }),
  );
  return new Map(read);
}

function decodeJson<T>(part: string): T | null {
  const bytes = bytesOf(part);
  if (!bytes) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? (value as T) : null;
  } catch {
    return null;
  }
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[\w-]+$/.test(text) || text.length % 4 === 1) return null;
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}
