import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import type { DnsOptions } from './drivers/dns/open-dns.ts';
import { parseDnsServers } from './drivers/dns/parse-dns-servers.ts';
import { type MailPlace, parseMailFrom, parseSmtpUrl } from './drivers/mail/parse-mail-place.ts';
import type { DockerOptions } from './drivers/runtime/docker/docker-runtime.ts';
import type { ControlGroupsUse } from './drivers/runtime/process/control-groups.ts';
import type { Surroundings } from './drivers/runtime/process/environment.ts';
import { surroundingsOf } from './drivers/runtime/process/surroundings-of.ts';
import { parseTrustedProxies, type TrustedProxies } from './plumbing/client-address.ts';

/** Everything the environment decides, read and checked once, before anything starts. */
export interface Config {
  host: string;
  port: number;
  baseUrl: string;
  /** Names beside that of `baseUrl`, names without a dot and addresses at which the platform itself answers. */
  extraHosts: readonly string[];
  /** Each app answers at a host of its own below it. */
  appsDomain: string;
  /** Sites also have a listener of their own there, which does nothing else and is quicker. */
  edgePort: number | undefined;
  /** How much of sites' files is kept in memory. */
  edgeCacheBytes: number;
  /** Whom custom domains are looked up with, and where they have to lead. */
  domains: DomainsConfig;
  /** Where TLS ends here; null: nowhere. */
  https: HttpsConfig | null;
  /** Who gives certificates for custom domains; null: nobody is asked. */
  acme: AcmeConfig | null;
  /** Who takes e-mails; null: none are sent. */
  mail: MailPlace | null;
  /** Reverse proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: TrustedProxies;
  dataDir: string;
  databaseUrl: string | undefined;
  dataDatabaseUrl: string | undefined;
  /** A login that may make roles and databases, on the server that is to hold apps' own databases. */
  rawDatabaseUrl: string | undefined;
  objectStore: { kind: 'file' } | S3Place;
  seed: 'demo' | 'none';
  logLevel: string;
  upstream: { issuer: string; clientId: string; clientSecret: string; name: string } | undefined;
  checkAnswers: boolean;
  /** Where repositories are. */
  gitHost: GitHostConfig;
  /** What apps are built and run by. */
  runtime: RuntimeConfig;
}

export interface RuntimeConfig {
  kind: 'process' | 'docker';
  surroundings: Surroundings;
  controlGroups: ControlGroupsUse;
  docker: DockerOptions;
}

/** The platform's own host needs nothing; at others the app of the platform is registered by the operator. */
export type GitHostConfig = { kind: 'built-in' } | GitHubConfig;

export interface GitHubConfig {
  kind: 'github';
  webUrl: string;
  apiUrl: string;
  clientId: string;
  appId: string;
  slug: string;
  privateKeyFile: string;
  webhookSecret: string;
}

/** A bucket, and whose keys open it. */
export interface S3Place {
  kind: 's3';
  bucket: string;
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export interface DomainsConfig {
  dns: DnsOptions;
  /** Addresses at which sites are reached; null: found out. */
  edgeAddresses: readonly string[] | null;
  /** By what the certificate authority is named in CAA records. */
  caaId: string | null;
}

export interface HttpsConfig {
  port: number;
  /** Shown to all who name no custom domain, such as the platform's own host and the apps domain. */
  files: { cert: string; key: string } | null;
}

export interface AcmeConfig {
  directory: string;
  email: string | null;
  /** PEM to trust for the directory's own TLS, instead of what the system trusts. */
  caFile: string | null;
}

export class ConfigError extends Error {
  readonly variable: string;

  constructor(variable: string, problem: string) {
    super(`${variable} ${problem}`);
    this.name = 'ConfigError';
    this.variable = variable;
  }
}

/** Of the installation, not of the folder one stands in: from anywhere, the tool finds the system of its server. */
const dataDirDefault = join(import.meta.dir, '..', '..', '.svc');

type Environment = Readonly<Record<string, string | undefined>>;

export function readConfig(env: Environment): Config {
  const port = portOf(env);
  return {
    host: env.SVC_HOST || '127.0.0.1',
    port,
    baseUrl: baseUrlOf(env, port),
    extraHosts: extraHostsOf(env),
    appsDomain: appsDomainOf(env),
    edgePort: edgePortOf(env, port),
    edgeCacheBytes: edgeCacheMbOf(env) * 1024 * 1024,
    domains: domainsOf(env),
    https: httpsOf(env, port, edgePortOf(env, port)),
    acme: acmeOf(env),
    mail: mailOf(env),
    trustedProxies: trustedProxiesOf(env),
    dataDir: resolve(env.SVC_DATA_DIR || dataDirDefault),
    databaseUrl: databaseUrlOf(env, 'SVC_DATABASE_URL'),
    dataDatabaseUrl: databaseUrlOf(env, 'SVC_DATA_DATABASE_URL'),
    rawDatabaseUrl: databaseUrlOf(env, 'SVC_RAW_DATABASE_URL'),
    objectStore: objectStoreOf(env),
    seed: oneOf(env, 'SVC_SEED', ['demo', 'none'], 'demo'),
    logLevel: oneOf(env, 'SVC_LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent'], 'info'),
    upstream: upstreamOf(env),
    checkAnswers: oneOf(env, 'SVC_CHECK_ANSWERS', ['true', 'false'], 'false') === 'true',
    gitHost: gitHostOf(env),
    runtime: runtimeOf(env),
  };
}

function portOf(env: Environment): number {
  const text = env.SVC_PORT || '4400';
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new ConfigError('SVC_PORT', 'must be a port number.');
  return port;
}

function baseUrlOf(env: Environment, port: number): string {
  const text = env.SVC_BASE_URL || `http://localhost:${port}`;
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash) {
    throw new ConfigError(
      'SVC_BASE_URL',
      'must be an http(s) address without a path, e.g. https://svc.example.com.',
    );
  }
  return url.origin;
}

function appsDomainOf(env: Environment): string {
  const text = env.SVC_APPS_DOMAIN || 'apps.localhost';
  if (
    text.length > 190 ||
    !/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z][a-z0-9-]{0,61}[a-z0-9]$/.test(text)
  ) {
    throw new ConfigError(
      'SVC_APPS_DOMAIN',
      'must be a domain in small letters without scheme and port, e.g. apps.example.com.',
    );
  }
  return text;
}

/** At all other names with a dot the platform is not to be found: they may be, or have been, a site's. */
function extraHostsOf(env: Environment): string[] {
  const text = env.SVC_EXTRA_HOSTS;
  if (!text) return [];
  const hosts = text.split(',').map((item) => item.trim().toLowerCase());
  if (
    hosts.some((host) => host.length > 253 || !/^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.|$))+$/.test(host))
  )
    throw new ConfigError(
      'SVC_EXTRA_HOSTS',
      'must be names without scheme and port, parted by commas, e.g. svc.internal,svc.default.svc.cluster.local.',
    );
  return hosts.map((host) => host.replace(/\.$/, ''));
}

function edgePortOf(env: Environment, mainPort: number): number | undefined {
  const text = env.SVC_EDGE_PORT;
  if (!text) return undefined;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535 || port === mainPort)
    throw new ConfigError('SVC_EDGE_PORT', 'must be a port number, another than SVC_PORT.');
  return port;
}

function edgeCacheMbOf(env: Environment): number {
  const text = env.SVC_EDGE_CACHE_MB || '64';
  const megabytes = Number(text);
  if (!/^\d+$/.test(text) || megabytes < 1 || megabytes > 65_536)
    throw new ConfigError('SVC_EDGE_CACHE_MB', 'must be a number of mebibytes from 1 to 65536.');
  return megabytes;
}

function domainsOf(env: Environment): DomainsConfig {
  const { SVC_DNS_SERVERS: servers, SVC_EDGE_ADDRESSES: listed } = env;
  const addresses = listed?.split(',').map((item) => item.trim());
  const wrong = addresses?.find((address) => !isIP(address));
  if (listed && wrong !== undefined)
    throw new ConfigError('SVC_EDGE_ADDRESSES', 'must be IP addresses, parted by commas.');
  const port = Number(env.SVC_DNS_PORT || '53');
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new ConfigError('SVC_DNS_PORT', 'must be a port number.');
  try {
    return {
      dns: { servers: servers ? parseDnsServers(servers) : null, port },
      edgeAddresses: listed ? (addresses ?? null) : null,
      caaId: env.SVC_ACME_CAA_ID || null,
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(
      'SVC_DNS_SERVERS',
      `must be addresses, e.g. 127.0.0.1:5300,9.9.9.9: ${error.message}.`,
    );
  }
}

function httpsOf(env: Environment, plainPort: number, edgePort: number | undefined): HttpsConfig | null {
  const { SVC_HTTPS_PORT: text, SVC_TLS_CERT_FILE: cert, SVC_TLS_KEY_FILE: key } = env;
  if (cert && !key) throw new ConfigError('SVC_TLS_KEY_FILE', 'is needed with SVC_TLS_CERT_FILE.');
  if (key && !cert) throw new ConfigError('SVC_TLS_CERT_FILE', 'is needed with SVC_TLS_KEY_FILE.');
  if (!text) {
    if (cert) throw new ConfigError('SVC_HTTPS_PORT', 'is needed with SVC_TLS_CERT_FILE.');
    return null;
  }
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new ConfigError('SVC_HTTPS_PORT', 'must be a port number.');
  if (port === plainPort || port === edgePort)
    throw new ConfigError('SVC_HTTPS_PORT', 'must be another port than SVC_PORT and SVC_EDGE_PORT.');
  return { port, files: cert && key ? { cert: resolve(cert), key: resolve(key) } : null };
}

function acmeOf(env: Environment): AcmeConfig | null {
  const { SVC_ACME_DIRECTORY: directory, SVC_ACME_EMAIL: email, SVC_ACME_CA_FILE: caFile } = env;
  if (!directory) {
    if (email) throw new ConfigError('SVC_ACME_DIRECTORY', 'is needed with SVC_ACME_EMAIL.');
    if (caFile) throw new ConfigError('SVC_ACME_DIRECTORY', 'is needed with SVC_ACME_CA_FILE.');
    return null;
  }
  if (!/^https?:$/.test(URL.parse(directory)?.protocol ?? '')) {
    throw new ConfigError(
      'SVC_ACME_DIRECTORY',
      'must be the address of an ACME directory, e.g. https://acme-v02.api.letsencrypt.org/directory.',
    );
  }
  if (email && !/^[^\s@,?]+@[^\s@,?]+$/.test(email))
    throw new ConfigError('SVC_ACME_EMAIL', 'must be an e-mail address.');
  return { directory, email: email || null, caFile: caFile ? resolve(caFile) : null };
}

function mailOf(env: Environment): MailPlace | null {
  const { SVC_SMTP_URL: url, SVC_MAIL_FROM: from } = env;
  if (!url && !from) return null;
  if (!url) throw new ConfigError('SVC_SMTP_URL', 'is needed with SVC_MAIL_FROM.');
  if (!from) throw new ConfigError('SVC_MAIL_FROM', 'is needed with SVC_SMTP_URL.');
  return {
    ...readOrRefuse('SVC_SMTP_URL', () => parseSmtpUrl(url)),
    from: readOrRefuse('SVC_MAIL_FROM', () => parseMailFrom(from)),
  };
}

function readOrRefuse<T>(variable: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(variable, error.message);
  }
}

function trustedProxiesOf(env: Environment): TrustedProxies {
  try {
    return parseTrustedProxies(env.SVC_TRUSTED_PROXIES ?? '');
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(
      'SVC_TRUSTED_PROXIES',
      `must be addresses or networks, e.g. loopback,10.0.0.0/8: ${error.message}.`,
    );
  }
}

function databaseUrlOf(env: Environment, variable: string): string | undefined {
  const text = env[variable];
  if (!text) return undefined;
  if (!/^postgres(ql)?:\/\//.test(text)) throw new ConfigError(variable, 'must begin with postgresql://.');
  return text;
}

function objectStoreOf(env: Environment): Config['objectStore'] {
  const text = env.SVC_OBJECT_STORE || 'file';
  if (text === 'file') return { kind: 'file' };
  const wrong = (problem: string) => new ConfigError('SVC_OBJECT_STORE', problem);
  const url = URL.parse(text);
  if (url?.protocol !== 's3:' || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.host) || url.username)
    throw wrong('must be file or s3://bucket?endpoint=https://s3.example.com&region=us-east-1.');
  if (!/^\/?$/.test(url.pathname) || url.hash) throw wrong('names a bucket, without a path in it.');
  const unknown = [...url.searchParams.keys()].find((name) => !['endpoint', 'region'].includes(name));
  if (unknown !== undefined) throw wrong(`has endpoint and region at most, not ${unknown}.`);
  const region = url.searchParams.get('region') || env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';
  if (!/^[a-z0-9-]+$/.test(region)) throw wrong('has a region that is none, e.g. eu-central-1.');
  const endpoint = URL.parse(url.searchParams.get('endpoint') || `https://s3.${region}.amazonaws.com`);
  if (
    !endpoint ||
    !/^https?:$/.test(endpoint.protocol) ||
    endpoint.username ||
    endpoint.search ||
    endpoint.hash
  )
    throw wrong('has an endpoint that is no http(s) address, e.g. https://s3.example.com.');
  return {
    kind: 's3',
    bucket: url.host,
    endpoint: endpoint.href.replace(/\/$/, ''),
    region,
    accessKeyId: neededWithS3(env, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: neededWithS3(env, 'AWS_SECRET_ACCESS_KEY'),
    ...(env.AWS_SESSION_TOKEN ? { sessionToken: env.AWS_SESSION_TOKEN } : {}),
  };
}

function neededWithS3(env: Environment, variable: string): string {
  const text = env[variable];
  if (!text) throw new ConfigError(variable, 'is needed when SVC_OBJECT_STORE names a bucket.');
  return text;
}

function upstreamOf(env: Environment): Config['upstream'] {
  const issuer = env.SVC_OIDC_ISSUER;
  if (!issuer) return undefined;
  const clientId = env.SVC_OIDC_CLIENT_ID;
  const clientSecret = env.SVC_OIDC_CLIENT_SECRET;
  if (!clientId) throw new ConfigError('SVC_OIDC_CLIENT_ID', 'is needed with SVC_OIDC_ISSUER.');
  if (!clientSecret) throw new ConfigError('SVC_OIDC_CLIENT_SECRET', 'is needed with SVC_OIDC_ISSUER.');
  if (!URL.canParse(issuer)) throw new ConfigError('SVC_OIDC_ISSUER', 'must be an address.');
  return { issuer, clientId, clientSecret, name: env.SVC_OIDC_NAME || new URL(issuer).hostname };
}

function gitHostOf(env: Environment): GitHostConfig {
  const kind = oneOf(env, 'SVC_GIT_HOST', ['built-in', 'github'], 'built-in');
  const names = ['URL', 'API_URL', 'CLIENT_ID', 'APP_ID', 'APP_SLUG', 'PRIVATE_KEY_FILE', 'WEBHOOK_SECRET'];
  if (kind === 'built-in') {
    const idle = names.map((name) => `SVC_GIT_HOST_${name}`).find((variable) => env[variable]);
    if (idle) throw new ConfigError(idle, 'is for SVC_GIT_HOST=github, which is not set.');
    return { kind };
  }
  const webUrl = gitHostUrlOf(env, 'SVC_GIT_HOST_URL', 'https://github.com');
  const apiUrl = webUrl === 'https://github.com' ? 'https://api.github.com' : `${webUrl}/api/v3`;
  return {
    kind,
    webUrl,
    apiUrl: gitHostUrlOf(env, 'SVC_GIT_HOST_API_URL', apiUrl),
    clientId: neededWithGitHub(env, 'SVC_GIT_HOST_CLIENT_ID', /^[\w.-]{1,100}$/),
    appId: neededWithGitHub(env, 'SVC_GIT_HOST_APP_ID', /^\d{1,15}$/),
    slug: neededWithGitHub(env, 'SVC_GIT_HOST_APP_SLUG', /^[a-z0-9][a-z0-9-]{0,99}$/),
    privateKeyFile: resolve(neededWithGitHub(env, 'SVC_GIT_HOST_PRIVATE_KEY_FILE', /./)),
    webhookSecret: neededWithGitHub(env, 'SVC_GIT_HOST_WEBHOOK_SECRET', /^.{16,}$/),
  };
}

function runtimeOf(env: Environment): RuntimeConfig {
  return {
    kind: oneOf(env, 'SVC_RUNTIME', ['process', 'docker'], 'process'),
    surroundings: surroundingsOf(env),
    controlGroups: oneOf(env, 'SVC_CGROUP', ['auto', 'own', 'none'], 'auto'),
    docker: dockerOf(env),
  };
}

function dockerOf(env: Environment): DockerOptions {
  const host = env.SVC_DOCKER_HOST || 'unix:///var/run/docker.sock';
  if (!/^unix:\/\/\/.|^tcp:\/\/[^/@\s]+:\d+$/.test(host))
    throw new ConfigError('SVC_DOCKER_HOST', 'must be unix:///path/to/docker.sock or tcp://host:port.');
  const baseImage = env.SVC_DOCKER_BASE_IMAGE || 'node:22-bookworm-slim';
  if (!/^[a-z0-9][\w./:@-]*$/i.test(baseImage))
    throw new ConfigError(
      'SVC_DOCKER_BASE_IMAGE',
      'must be the name of an image, e.g. node:22-bookworm-slim.',
    );
  const network = env.SVC_DOCKER_NETWORK || null;
  if (network !== null && !/^[A-Za-z0-9][\w.-]*$/.test(network))
    throw new ConfigError('SVC_DOCKER_NETWORK', 'must be the name of a network of the engine.');
  const address = env.SVC_DOCKER_ADDRESS || null;
  if (address !== null && !/^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(address))
    throw new ConfigError(
      'SVC_DOCKER_ADDRESS',
      'must be a name or an IPv4 address of the engine, without a port.',
    );
  const swarm = oneOf(env, 'SVC_DOCKER_SWARM', ['refused', 'trusted-network'], 'refused');
  return { host, baseImage, network, address, swarm };
}

function gitHostUrlOf(env: Environment, variable: string, standard: string): string {
  const url = URL.parse(env[variable] || standard);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    throw new ConfigError(variable, `must be an http(s) address, e.g. ${standard}.`);
  return url.href.replace(/\/+$/, '');
}

function neededWithGitHub(env: Environment, variable: string, pattern: RegExp): string {
  const text = env[variable];
  if (!text) throw new ConfigError(variable, 'is needed with SVC_GIT_HOST=github.');
  if (!pattern.test(text)) throw new ConfigError(variable, `does not look like one (${pattern.source}).`);
  return text;
}

function oneOf<const T extends string>(
  env: Environment,
  variable: string,
  values: readonly T[],
  standard: T,
): T {
  const text = env[variable] || standard;
  const value = values.find((item) => item === text);
  if (value === undefined) throw new ConfigError(variable, `must be one of ${values.join(', ')}.`);
  return value;
}
