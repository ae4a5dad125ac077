import { join, resolve } from 'node:path';
import { attributeNameFault, memberAttributesMax } from '@svc/contract/tenants.ts';
import { ConfigError } from '../core/config-error.ts';
import { masterKeyVariable } from '../core/master-key.ts';
import type { GitHostConfig } from '../drivers/git/open-git-host.ts';
import { type MailConfig, parseMailFrom, parseSmtpUrl } from '../drivers/mail/mail.ts';
import type { ObjectStoreConfig } from '../drivers/object-store/open-object-store.ts';
import type { DockerOptions } from '../drivers/runtime/docker/docker-runtime.ts';
import type { RuntimeConfig } from '../drivers/runtime/open-runtime.ts';
import { readBaseEnvironment } from '../drivers/runtime/process/environment.ts';
import type { IsolationUse } from '../drivers/runtime/process/isolation.ts';
import { type Environment, parseVariable, readChoice, requireMatch, requireVariable } from './values.ts';

export function readDatabaseUrl(env: Environment, variable: string): string | undefined {
  const text = env[variable];
  return text
    ? requireMatch(variable, text, /^postgres(ql)?:\/\//, 'must start with postgresql://.')
    : undefined;
}

export function readMasterKeyFile(env: Environment, dataDir: string): string | undefined {
  if (!env[masterKeyVariable]) return undefined;
  const file = resolve(env[masterKeyVariable]);
  if (file.startsWith(join(dataDir, '/')))
    throw new ConfigError(
      masterKeyVariable,
      `must be outside the data dir ${dataDir}: copies and backups of it must not contain the master key.`,
    );
  return file;
}

export function readObjectStore(env: Environment): ObjectStoreConfig {
  const text = env.SVC_OBJECT_STORE || 'file';
  if (text === 'file') return { kind: 'file' };
  const storeError = (problem: string) => new ConfigError('SVC_OBJECT_STORE', problem);
  const url = URL.parse(text);
  if (url?.protocol !== 's3:' || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.host) || url.username)
    throw storeError('must be file or s3://bucket?endpoint=https://s3.example.com&region=us-east-1.');
  if (!/^\/?$/.test(url.pathname) || url.hash) throw storeError('must name a bucket without a path.');
  const unknown = [...url.searchParams.keys()].find((name) => !['endpoint', 'region'].includes(name));
  if (unknown !== undefined)
    throw storeError(`has the unknown parameter ${unknown}; only endpoint and region are allowed.`);
  const region = url.searchParams.get('region') || env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';
  if (!/^[a-z0-9-]+$/.test(region)) throw storeError('has an invalid region; use one such as eu-central-1.');
  const endpoint = URL.parse(url.searchParams.get('endpoint') || `https://s3.${region}.amazonaws.com`);
  if (!endpoint || !isPlainHttpUrl(endpoint))
    throw storeError('has an invalid endpoint; use an http(s) URL such as https://s3.example.com.');
  const condition = 'when SVC_OBJECT_STORE names a bucket';
  return {
    kind: 's3',
    bucket: url.host,
    endpoint: endpoint.href.replace(/\/$/, ''),
    region,
    accessKeyId: requireVariable(env, 'AWS_ACCESS_KEY_ID', condition),
    secretAccessKey: requireVariable(env, 'AWS_SECRET_ACCESS_KEY', condition),
    ...(env.AWS_SESSION_TOKEN ? { sessionToken: env.AWS_SESSION_TOKEN } : {}),
  };
}

export function readMail(env: Environment): MailConfig | null {
  if (!env.SVC_SMTP_URL && !env.SVC_MAIL_FROM) return null;
  const url = requireVariable(env, 'SVC_SMTP_URL', 'with SVC_MAIL_FROM');
  const from = requireVariable(env, 'SVC_MAIL_FROM', 'with SVC_SMTP_URL');
  return {
    ...parseVariable('SVC_SMTP_URL', () => parseSmtpUrl(url)),
    from: parseVariable('SVC_MAIL_FROM', () => parseMailFrom(from)),
  };
}

export function readTrustedIssuers(env: Environment): string[] {
  const issuers = (env.SVC_TRUSTED_ISSUERS ?? '').split(',').map((issuer) => issuer.trim());
  return issuers
    .filter((issuer) => issuer !== '')
    .map((issuer) =>
      requireMatch(
        'SVC_TRUSTED_ISSUERS',
        issuer,
        /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*[^\s?#/])?$/,
        'must be URLs of issuers, such as https://gitlab.example.com, separated by commas.',
      ),
    );
}

export function readUpstream(env: Environment) {
  const issuer = env.SVC_OIDC_ISSUER;
  if (!issuer) return undefined;
  const clientId = requireVariable(env, 'SVC_OIDC_CLIENT_ID', 'with SVC_OIDC_ISSUER');
  const clientSecret = requireVariable(env, 'SVC_OIDC_CLIENT_SECRET', 'with SVC_OIDC_ISSUER');
  if (!URL.canParse(issuer)) throw new ConfigError('SVC_OIDC_ISSUER', 'must be a URL.');
  return {
    issuer,
    clientId,
    clientSecret,
    name: env.SVC_OIDC_NAME || new URL(issuer).hostname,
    groupsClaim: env.SVC_OIDC_GROUPS_CLAIM || null,
    attributeClaims: readAttributeClaims(env),
  };
}

/** `region=zoneinfo,department`: the attribute `region` follows the claim `zoneinfo`, `department` the claim of its name. */
function readAttributeClaims(env: Environment): Record<string, string> {
  const entries = (env.SVC_OIDC_ATTRIBUTE_CLAIMS ?? '').split(',').map((entry) => entry.trim());
  const pairs = entries
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [name = '', claim = name] = entry.split(/=(.*)/s);
      const fault = claim === '' ? 'names no claim' : attributeNameFault(name);
      if (fault !== null)
        throw new ConfigError('SVC_OIDC_ATTRIBUTE_CLAIMS', `has "${entry}": ${name} ${fault}.`);
      return [name, claim];
    });
  if (pairs.length > memberAttributesMax)
    throw new ConfigError('SVC_OIDC_ATTRIBUTE_CLAIMS', `can name ${memberAttributesMax} attributes at most.`);
  return Object.fromEntries(pairs);
}

export function readLocalPasswords(env: Environment): 'on' | 'off' {
  const choice = readChoice(env, 'SVC_LOCAL_PASSWORDS', ['on', 'off'], 'on');
  if (choice === 'off') requireVariable(env, 'SVC_OIDC_ISSUER', 'with SVC_LOCAL_PASSWORDS=off');
  return choice;
}

/** The demo tenant and its local login are for a developer's own machine. */
export function readSeed(env: Environment, baseUrl: string): 'demo' | 'none' {
  const isLocal = isLoopbackUrl(baseUrl);
  const seed = readChoice(env, 'SVC_SEED', ['demo', 'none'], isLocal ? 'demo' : 'none');
  if (seed === 'demo' && !isLocal)
    throw new ConfigError('SVC_SEED', 'can be demo only when the host of SVC_BASE_URL is localhost.');
  return seed;
}

export function readGitHost(env: Environment): GitHostConfig {
  const kind = readChoice(env, 'SVC_GIT_HOST', ['built-in', 'github'], 'built-in');
  const names = ['URL', 'API_URL', 'CLIENT_ID', 'APP_ID', 'APP_SLUG', 'PRIVATE_KEY_FILE', 'WEBHOOK_SECRET'];
  if (kind === 'built-in') {
    const unused = names.map((name) => `SVC_GIT_HOST_${name}`).find((variable) => env[variable]);
    if (unused) throw new ConfigError(unused, 'is only for SVC_GIT_HOST=github, which is not set.');
    return { kind };
  }
  const webUrl = readUrl(env, 'SVC_GIT_HOST_URL', 'https://github.com');
  const apiUrl = webUrl === 'https://github.com' ? 'https://api.github.com' : `${webUrl}/api/v3`;
  const readGitHub = (variable: string, pattern: RegExp) => {
    const text = requireVariable(env, variable, 'with SVC_GIT_HOST=github');
    return requireMatch(variable, text, pattern, `must match ${pattern.source}.`);
  };
  return {
    kind,
    webUrl,
    apiUrl: readUrl(env, 'SVC_GIT_HOST_API_URL', apiUrl),
    clientId: readGitHub('SVC_GIT_HOST_CLIENT_ID', /^[\w.-]{1,100}$/),
    appId: readGitHub('SVC_GIT_HOST_APP_ID', /^\d{1,15}$/),
    slug: readGitHub('SVC_GIT_HOST_APP_SLUG', /^[a-z0-9][a-z0-9-]{0,99}$/),
    privateKeyFile: resolve(readGitHub('SVC_GIT_HOST_PRIVATE_KEY_FILE', /./)),
    webhookSecret: readGitHub('SVC_GIT_HOST_WEBHOOK_SECRET', /^.{16,}$/),
  };
}

export function readRuntime(
  env: Environment,
  { baseUrl, dataDir }: { baseUrl: string; dataDir: string },
): RuntimeConfig {
  return {
    kind: readChoice(env, 'SVC_RUNTIME', ['process', 'docker'], 'process'),
    baseEnvironment: readBaseEnvironment(env),
    toolchainDir: resolve(env.SVC_TOOLCHAIN_DIR || join(dataDir, 'toolchains')),
    controlGroups: readChoice(env, 'SVC_CGROUP', ['auto', 'own', 'none'], 'auto'),
    isolation: {
      use: readIsolationUse(env, baseUrl),
      egress: readChoice(env, 'SVC_APP_EGRESS', ['public', 'all', 'none'], 'public'),
      gatewayPort: null as number | null,
    },
    docker: readDocker(env),
  };
}

/** Apps that cannot be isolated are refused, except on a developer's own machine. */
function readIsolationUse(env: Environment, baseUrl: string): IsolationUse {
  if (readChoice(env, 'SVC_RUNTIME_ISOLATION', ['auto', 'none'], 'auto') === 'none') return 'none';
  return isLoopbackUrl(baseUrl) ? 'preferred' : 'required';
}

export function isLoopbackUrl(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

function readDocker(env: Environment): DockerOptions {
  const { SVC_DOCKER_NETWORK: network, SVC_DOCKER_ADDRESS: address } = env;
  return {
    host: requireMatch(
      'SVC_DOCKER_HOST',
      env.SVC_DOCKER_HOST || 'unix:///var/run/docker.sock',
      /^unix:\/\/\/.|^tcp:\/\/[^/@\s]+:\d+$/,
      'must be unix:///path/to/docker.sock or tcp://host:port.',
    ),
    baseImage: requireMatch(
      'SVC_DOCKER_BASE_IMAGE',
      env.SVC_DOCKER_BASE_IMAGE || 'node:22-bookworm-slim',
      /^[a-z0-9][\w./:@-]*$/i,
      'must be the name of an image, e.g. node:22-bookworm-slim.',
    ),
    network: network
      ? requireMatch(
          'SVC_DOCKER_NETWORK',
          network,
          /^[A-Za-z0-9][\w.-]*$/,
          'must be the name of a Docker network.',
        )
      : null,
    address: address
      ? requireMatch(
          'SVC_DOCKER_ADDRESS',
          address,
          /^[A-Za-z0-9][A-Za-z0-9.-]*$/,
          'must be a host name or an IPv4 address of the engine, without a port.',
        )
      : null,
    swarm: readChoice(env, 'SVC_DOCKER_SWARM', ['refused', 'trusted-network'], 'refused'),
    registry: env.SVC_DOCKER_REGISTRY
      ? requireMatch(
          'SVC_DOCKER_REGISTRY',
          env.SVC_DOCKER_REGISTRY,
          /^[a-z0-9][a-z0-9.-]*(?::\d+)?(?:\/[a-z0-9][a-z0-9._-]*)*$/,
          'must be a registry such as registry.example.com:5000.',
        )
      : null,
  };
}

function readUrl(env: Environment, variable: string, fallback: string): string {
  const url = URL.parse(env[variable] || fallback);
  if (!url || !isPlainHttpUrl(url))
    throw new ConfigError(variable, `must be an http(s) URL, e.g. ${fallback}.`);
  return url.href.replace(/\/+$/, '');
}

function isPlainHttpUrl(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && !url.username && !url.search && !url.hash;
}
