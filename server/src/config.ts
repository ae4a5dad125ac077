import { join, resolve } from 'node:path';
import {
  readAcme,
  readAppsDomain,
  readBaseUrl,
  readConnectorNetworks,
  readDomains,
  readEdgeCacheBytes,
  readExtraHosts,
  readHttps,
  readListen,
  readMetrics,
  readRateLimits,
  readTrustedProxies,
  readWorkers,
} from './config/network.ts';
import {
  readDatabaseUrl,
  readGitHost,
  readLocalPasswords,
  readMail,
  readMasterKeyFile,
  readObjectStore,
  readRuntime,
  readSeed,
  readTrustedIssuers,
  readUpstream,
} from './config/services.ts';
import { type Environment, readChoice, readPort } from './config/values.ts';
import { ConfigError } from './core/config-error.ts';
import { projectRoot } from './core/project-root.ts';
import { type Supervised, supervisedVariable } from './drivers/supervisor/connect-supervisor.ts';

/** All settings from environment variables, read and checked once before anything starts. */
export type Config = ReturnType<typeof readConfig>;

/** Relative to the installation, not to the current folder, so that tools find the data of their server. */
const dataDirDefault = join(projectRoot, '.svc');

export function readConfigOrExit(env: Environment) {
  return exitOnConfigError(() => readConfig(env));
}

export function exitOnConfigError<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    console.error(error instanceof ConfigError ? `Configuration: ${error.message}` : String(error));
    process.exit(2);
  }
}

export function readConfig(env: Environment) {
  const port = readPort(env, 'SVC_PORT') ?? 4400;
  const baseUrl = readBaseUrl(env, port);
  const dataDir = resolve(env.SVC_DATA_DIR || dataDirDefault);
  return {
    host: env.SVC_HOST || '127.0.0.1',
    port,
    socket: readListen(env),
    workers: readWorkers(env),
    baseUrl,
    extraHosts: readExtraHosts(env),
    appsDomain: readAppsDomain(env),
    edgeCacheBytes: readEdgeCacheBytes(env),
    metrics: readMetrics(env),
    domains: readDomains(env),
    https: readHttps(env, port),
    acme: readAcme(env),
    mail: readMail(env),
    /** Reverse proxies whose `X-Forwarded-For` is trusted. */
    trustedProxies: readTrustedProxies(env),
    rateLimits: readRateLimits(env),
    dataDir,
    masterKeyFile: readMasterKeyFile(env, dataDir),
    databaseUrl: readDatabaseUrl(env, 'SVC_DATABASE_URL'),
    databasePatience: Number(readChoice(env, 'SVC_DATABASE_PATIENCE', ['1', '2', '5', '10'], '1')),
    dataDatabaseUrl: readDatabaseUrl(env, 'SVC_DATA_DATABASE_URL'),
    rawDatabaseUrl: readDatabaseUrl(env, 'SVC_RAW_DATABASE_URL'),
    connectorNetworks: readConnectorNetworks(env),
    objectStore: readObjectStore(env),
    seed: readSeed(env, baseUrl),
    localPasswords: readLocalPasswords(env),
    logLevel: readChoice(env, 'SVC_LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent'], 'info'),
    upstream: readUpstream(env),
    trustedIssuers: readTrustedIssuers(env),
    checkAnswers: readChoice(env, 'SVC_CHECK_ANSWERS', ['true', 'false'], 'false') === 'true',
    gitHost: readGitHost(env),
    runtime: readRuntime(env, { baseUrl, dataDir }),
    supervised: JSON.parse(env[supervisedVariable] || 'null') as Supervised | null,
  };
}
