import { CliError, usage } from './errors.ts';
import type { Env } from './parse.ts';

/** `config.json`: where profiles point. Nothing secret. */
export interface Config {
  current_profile?: string;
  profiles: Record<string, ProfileConfig>;
}

export interface ProfileConfig {
  base_url?: string;
  /** The active tenant. */
  tenant?: StoredTenant;
}

export interface StoredTenant {
  id: string;
  slug: string;
  /** The server it is on: with another `SVC_BASE_URL` it means nothing. */
  base_url: string;
}

/** `credentials.json`, readable by its owner only: one login per profile. */
export interface Credentials {
  profiles: Record<string, StoredLogin>;
}

export interface StoredLogin {
  /** The login counts for this server only and is never sent to another. */
  base_url: string;
  access_token: string;
  refresh_token?: string;
  expires_at: string;
}

export const configFile = 'config.json';
export const credentialsFile = 'credentials.json';

/** Reading goes through Bun.file: loading node:fs alone would cost as much as a bare start. */
export function readProfiles<T extends Config | Credentials>(dir: string, file: string): Promise<T> {
  const path = `${dir}/${file}`;
  return Bun.file(path)
    .text()
    .then(
      (text) => parseProfiles(path, text),
      (cause) => {
        if (isAbsent(cause)) return { profiles: {} };
        throw unreadable(path, 'can not be read', cause);
      },
    ) as Promise<T>;
}

function parseProfiles(path: string, text: string): { profiles: object } {
  let data: { profiles?: unknown } | null;
  try {
    data = JSON.parse(text || '{}');
  } catch (cause) {
    throw unreadable(path, 'is not valid JSON', cause);
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw unreadable(path, 'does not hold a JSON object');
  }
  const { profiles } = data;
  return { ...data, profiles: typeof profiles === 'object' && profiles !== null ? profiles : {} };
}

export function configDir(env: Env): string {
  if (env.SVC_CONFIG_DIR) return env.SVC_CONFIG_DIR.replace(/(.)\/+$/, '$1');
  const home = env.HOME || env.USERPROFILE;
  const base = env.XDG_CONFIG_HOME || (home ? `${home}/.config` : undefined);
  if (base === undefined)
    throw usage('Neither HOME nor SVC_CONFIG_DIR is set; svc does not know where its files are.');
  return `${base}/svc`;
}

export function profileName(asked: string | undefined, config: Config): string {
  const name = asked ?? config.current_profile ?? 'default';
  if (!/^[a-z0-9][a-z0-9._-]{0,62}$/i.test(name)) {
    throw usage(`"${name}" can not name a profile; use letters, digits and ._- (at most 63).`);
  }
  return name;
}

function isAbsent(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR');
}

function unreadable(path: string, why: string, cause?: unknown): CliError {
  return new CliError('config_unreadable', `${path} ${why}.`, {
    next: path.endsWith(credentialsFile)
      ? 'Remove it and run svc login.'
      : 'Correct it, or remove it to start afresh.',
    cause,
  });
}

/** Without the trailing slash. `from` says whose value it is, for the message. */
export function parseBaseUrl(text: string, from: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usage(
      `${from} must be an http or https address, such as http://localhost:4400; it is ${JSON.stringify(text)}.`,
    );
  }
  if (url.username !== '' || url.password !== '')
    throw usage(`${from} must not hold a user name or password.`);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** Whether two addresses are the same server: same origin, where all names of this machine count as one. */
export function sameServer(a: string, b: string): boolean {
  return a === b || canonicalOrigin(a) === canonicalOrigin(b);
}

function canonicalOrigin(text: string): string | null {
  const url = URL.parse(text);
  if (url === null) return null;
  const host = isLoopback(url.hostname) ? 'localhost' : url.hostname;
  return `${url.protocol}//${host}:${url.port}`;
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
