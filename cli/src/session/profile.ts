import { CliError, usageError } from '../framework/errors.ts';
import type { Env } from '../framework/io.ts';

export interface Config {
  current_profile?: string;
  /** Table format without --output. */
  output?: TableOutput;
  profiles: Record<string, ProfileConfig>;
}

export const tableOutputs = ['table', 'wide'] as const;
export type TableOutput = (typeof tableOutputs)[number];

export interface ProfileConfig {
  base_url?: string;
  tenant?: StoredTenant;
}

export interface StoredTenant {
  id: string;
  slug: string;
  base_url: string;
}

export interface Credentials {
  profiles: Record<string, StoredLogin>;
}

export interface StoredLogin {
  /** The login is never sent to another server. */
  base_url: string;
  access_token: string;
  refresh_token?: string;
  expires_at: string;
}

export const configFile = 'config.json';
export const credentialsFile = 'credentials.json';

/** Uses Bun.file, because loading node:fs would double the start-up time. */
export function readProfiles<T extends Config | Credentials>(dir: string, file: string): Promise<T> {
  const path = `${dir}/${file}`;
  return Bun.file(path)
    .text()
    .then(
      (text) => parseProfiles(path, text),
      (cause) => {
        if (isAbsent(cause)) return { profiles: {} };
        throw unreadableError(path, 'cannot be read', cause);
      },
    ) as Promise<T>;
}

function parseProfiles(path: string, text: string): { profiles: object } {
  let data: { profiles?: unknown } | null;
  try {
    data = JSON.parse(text || '{}');
  } catch (cause) {
    throw unreadableError(path, 'is not valid JSON', cause);
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw unreadableError(path, 'does not contain a JSON object');
  }
  const { profiles } = data;
  return { ...data, profiles: typeof profiles === 'object' && profiles !== null ? profiles : {} };
}

export function configDir(env: Env): string {
  if (env.SVC_CONFIG_DIR) return env.SVC_CONFIG_DIR.replace(/(.)\/+$/, '$1');
  const home = env.HOME || env.USERPROFILE;
  const base = env.XDG_CONFIG_HOME || (home ? `${home}/.config` : undefined);
  if (base === undefined)
    throw usageError('Neither HOME nor SVC_CONFIG_DIR is set, so svc cannot find its files.');
  return `${base}/svc`;
}

export function profileName(requested: string | undefined, config: Config): string {
  const name = requested ?? config.current_profile ?? 'default';
  if (!/^[a-z0-9][a-z0-9._-]{0,62}$/i.test(name)) {
    throw usageError(`"${name}" is not a valid profile name; use letters, digits and ._- (at most 63).`);
  }
  return name;
}

function isAbsent(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR');
}

function unreadableError(path: string, why: string, cause?: unknown): CliError {
  return new CliError('config_unreadable', `${path} ${why}.`, {
    next: path.endsWith(credentialsFile) ? 'Remove the file and run svc login.' : 'Fix or remove the file.',
    cause,
  });
}

export function parseBaseUrl(text: string, from: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usageError(
      `${from} must be an http or https URL, such as http://localhost:4400, not ${JSON.stringify(text)}.`,
    );
  }
  if (url.username !== '' || url.password !== '')
    throw usageError(`${from} must not contain a user name or password.`);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

export function isSameServer(a: string, b: string): boolean {
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
