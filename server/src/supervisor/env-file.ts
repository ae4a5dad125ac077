import { readFileSync } from 'node:fs';
import type { Environment } from '../config/values.ts';
import { ConfigError } from '../core/config-error.ts';

const fixedVariables = [
  'SVC_PORT',
  'SVC_HOST',
  'SVC_LISTEN',
  'SVC_HTTPS_PORT',
  'SVC_METRICS_PORT',
  'SVC_METRICS_HOST',
  'SVC_WORKERS',
  'SVC_DATA_DIR',
  'SVC_DATABASE_URL',
  'SVC_DATA_DATABASE_URL',
  'SVC_RAW_DATABASE_URL',
  'SVC_RUNTIME',
  'SVC_RUNTIME_ISOLATION',
  'SVC_APP_EGRESS',
  'SVC_TOOLCHAIN_DIR',
  'SVC_CGROUP',
];

export function withEnvFile(env: Environment): Environment {
  const { SVC_ENV_FILE: path } = env;
  if (!path) return env;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(
      'SVC_ENV_FILE',
      `cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
  return { ...env, ...parseEnvFile(text) };
}

export function parseEnvFile(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [at, line] of text.split('\n').entries()) {
    if (/^\s*(#.*)?$/.test(line)) continue;
    const [, name, value = ''] = /^\s*(?:export\s+)?([A-Za-z_]\w*)=(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined) throw new ConfigError('SVC_ENV_FILE', `line ${at + 1} is not NAME=value.`);
    found[name] = /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
  }
  return found;
}

export function retainFixed(before: Environment, next: Environment): { env: Environment; ignored: string[] } {
  const ignored = fixedVariables.filter((name) => (before[name] ?? '') !== (next[name] ?? ''));
  return { env: { ...next, ...Object.fromEntries(ignored.map((name) => [name, before[name]])) }, ignored };
}
