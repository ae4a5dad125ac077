import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { ConfigError } from '../core/config-error.ts';
import { type IpNetworks, parseNetworks } from '../core/ip-networks.ts';
import type { AcmeConfig } from '../drivers/certificates/acme.ts';
import type { HttpsConfig } from '../drivers/certificates/https-server.ts';
import { parseDnsServers } from '../drivers/dns/dns.ts';
import { socketPathBytesMax } from '../drivers/os/listen.ts';
import { parseTrustedProxies, socketPeer, type TrustedProxies } from '../http/client-address.ts';
import type { MetricsConfig } from '../http/metrics.ts';
import type { CallerLimits } from '../http/rate-limit.ts';
import { type Environment, parseVariable, readPort, requireMatch, requireVariable } from './values.ts';

export function readListen(env: Environment): string | null {
  if (!env.SVC_LISTEN) return null;
  const path = /^unix:(\/.*[^/])$/.exec(env.SVC_LISTEN)?.[1];
  if (path === undefined)
    throw new ConfigError('SVC_LISTEN', 'must be unix: and an absolute path, e.g. unix:/run/svc/svc.sock.');
  if (Buffer.byteLength(path) > socketPathBytesMax)
    throw new ConfigError('SVC_LISTEN', `must have a path of at most ${socketPathBytesMax} bytes.`);
  requireVariable(env, 'SVC_BASE_URL', 'with SVC_LISTEN: the URL of the proxy');
  if (env.SVC_HTTPS_PORT)
    throw new ConfigError(
      'SVC_HTTPS_PORT',
      'must not be set with SVC_LISTEN: all requests come through the proxy.',
    );
  return path;
}

const workersMax = 64;

export function readWorkers(env: Environment): number {
  const text = env.SVC_WORKERS;
  if (!text) return Math.min(workersMax, Math.max(1, availableParallelism() - 1));
  if (!/^\d{1,2}$/.test(text) || Number(text) < 1 || Number(text) > workersMax)
    throw new ConfigError('SVC_WORKERS', `must be a number from 1 to ${workersMax}.`);
  return Number(text);
}

export function readBaseUrl(env: Environment, port: number): string {
  const url = URL.parse(env.SVC_BASE_URL || `http://localhost:${port}`);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash)
    throw new ConfigError(
      'SVC_BASE_URL',
      'must be an http(s) URL without a path, e.g. https://svc.example.com.',
    );
  return url.origin;
}

export function readAppsDomain(env: Environment): string {
  return requireMatch(
    'SVC_APPS_DOMAIN',
    env.SVC_APPS_DOMAIN || 'apps.localhost',
    /^(?=.{1,190}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z][a-z0-9-]{0,61}[a-z0-9]$/,
    'must be a domain in lower case without scheme and port, e.g. apps.example.com.',
  );
}

/** The platform does not answer at any other name with a dot: it may be, or have been, the name of a site. */
export function readExtraHosts(env: Environment): string[] {
  const text = env.SVC_EXTRA_HOSTS;
  if (!text) return [];
  const hosts = text.split(',').map((item) => item.trim().toLowerCase());
  if (
    hosts.some((host) => host.length > 253 || !/^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.|$))+$/.test(host))
  )
    throw new ConfigError(
      'SVC_EXTRA_HOSTS',
      'must be host names without scheme and port, separated by commas, e.g. svc.internal,svc.default.svc.cluster.local.',
    );
  return hosts.map((host) => host.replace(/\.$/, ''));
}

export function readMetrics(env: Environment): MetricsConfig {
  const port = readPort(env, 'SVC_METRICS_PORT');
  const token = env.SVC_METRICS_TOKEN
    ? requireMatch(
        'SVC_METRICS_TOKEN',
        env.SVC_METRICS_TOKEN,
        /^[\w.~+/=-]{16,}$/,
        'must have at least 16 letters, digits or characters of -._~+/=.',
      )
    : null;
  if (env.SVC_METRICS_HOST && port === null)
    throw new ConfigError('SVC_METRICS_HOST', 'has no effect without SVC_METRICS_PORT.');
  return { token, listener: port === null ? null : { host: env.SVC_METRICS_HOST || '127.0.0.1', port } };
}

export function readEdgeCacheBytes(env: Environment): number {
  const text = env.SVC_EDGE_CACHE_MB || '64';
  const megabytes = Number(text);
  if (!/^\d+$/.test(text) || megabytes < 1 || megabytes > 65_536)
    throw new ConfigError('SVC_EDGE_CACHE_MB', 'must be a number of mebibytes from 1 to 65536.');
  return megabytes * 1024 * 1024;
}

/** Without edge addresses, they are found by DNS. `caaId` is the certificate authority's name in CAA records. */
export function readDomains(env: Environment) {
  const { SVC_DNS_SERVERS: servers, SVC_EDGE_ADDRESSES: list } = env;
  const addresses = list ? list.split(',').map((item) => item.trim()) : null;
  if (addresses?.some((address) => !isIP(address)))
    throw new ConfigError('SVC_EDGE_ADDRESSES', 'must be IP addresses, separated by commas.');
  const port = readPort(env, 'SVC_DNS_PORT') ?? 53;
  const resolvers = servers
    ? parseVariable(
        'SVC_DNS_SERVERS',
        () => parseDnsServers(servers),
        'must be addresses, e.g. 127.0.0.1:5300,9.9.9.9',
      )
    : null;
  return { dns: { servers: resolvers, port }, edgeAddresses: addresses, caaId: env.SVC_ACME_CAA_ID || null };
}

export function readHttps(env: Environment, mainPort: number): HttpsConfig | null {
  const { SVC_TLS_CERT_FILE: cert, SVC_TLS_KEY_FILE: key } = env;
  if (cert && !key) throw new ConfigError('SVC_TLS_KEY_FILE', 'is required with SVC_TLS_CERT_FILE.');
  if (key && !cert) throw new ConfigError('SVC_TLS_CERT_FILE', 'is required with SVC_TLS_KEY_FILE.');
  const port = readPort(env, 'SVC_HTTPS_PORT');
  if (port === null) {
    if (cert) throw new ConfigError('SVC_HTTPS_PORT', 'is required with SVC_TLS_CERT_FILE.');
    return null;
  }
  if (port === mainPort) throw new ConfigError('SVC_HTTPS_PORT', 'must differ from SVC_PORT.');
  return { port, files: cert && key ? { cert: resolve(cert), key: resolve(key) } : null };
}

export function readAcme(env: Environment): AcmeConfig | null {
  const { SVC_ACME_DIRECTORY: directory, SVC_ACME_EMAIL: email, SVC_ACME_CA_FILE: caFile } = env;
  if (!directory) {
    if (email) throw new ConfigError('SVC_ACME_DIRECTORY', 'is required with SVC_ACME_EMAIL.');
    if (caFile) throw new ConfigError('SVC_ACME_DIRECTORY', 'is required with SVC_ACME_CA_FILE.');
    return null;
  }
  requireMatch(
    'SVC_ACME_DIRECTORY',
    URL.parse(directory)?.protocol ?? '',
    /^https?:$/,
    'must be the URL of an ACME directory, e.g. https://acme-v02.api.letsencrypt.org/directory.',
  );
  if (email) requireMatch('SVC_ACME_EMAIL', email, /^[^\s@,?]+@[^\s@,?]+$/, 'must be an e-mail address.');
  return { directory, email: email || null, caFile: caFile ? resolve(caFile) : null };
}

export function readTrustedProxies(env: Environment): TrustedProxies {
  const listed = parseVariable(
    'SVC_TRUSTED_PROXIES',
    () => parseTrustedProxies(env.SVC_TRUSTED_PROXIES ?? ''),
    'must be addresses or networks, e.g. loopback,10.0.0.0/8',
  );
  // Only the proxy's group can open the socket.
  return { includes: (address) => address === socketPeer || listed.includes(address) };
}

export function readConnectorNetworks(env: Environment): IpNetworks | null {
  const text = env.SVC_CONNECTOR_NETWORKS;
  if (!text) return null;
  return parseVariable(
    'SVC_CONNECTOR_NETWORKS',
    () => parseNetworks(text),
    'must be networks, e.g. 10.20.0.0/16,127.0.0.0/8',
  );
}

/** Requests to the API and to rows in 10 seconds. An app may use one token for all of its visitors. */
export function readRateLimits(env: Environment): CallerLimits {
  return {
    person: readCount(env, 'SVC_RATE_LIMIT_PERSON', 600),
    token: readCount(env, 'SVC_RATE_LIMIT_TOKEN', 6_000),
    address: readCount(env, 'SVC_RATE_LIMIT_ADDRESS', 1_200),
  };
}

function readCount(env: Environment, variable: string, fallback: number): number {
  const text = env[variable] || String(fallback);
  if (!/^\d{1,9}$/.test(text))
    throw new ConfigError(variable, 'must be a number of requests in 10 seconds; 0 is no limit.');
  return Number(text);
}
