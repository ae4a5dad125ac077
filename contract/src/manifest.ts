import { words } from './words.ts';

export const manifestFileNames = ['svc.yaml', 'svc.yml'] as const;
export const manifestBytesMax = 64 * 1024;
export const manifestSchemaPath = '/schemas/svc.yaml.json';

export const manifestEnvNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** Below the folder of `svc.yaml`: relative, with slashes, never upwards. */
export const manifestPathPattern =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  /^(?!\/)(?!(?:.*\/)?\.\.(?:\/|$))[^\\\u0000-\u001f\u007f]{1,255}$/;
export const manifestUrlPathPattern = /^\/[!-~]{0,254}$/;
export const manifestDurationPattern = /^[1-9]\d{0,5}(?:ms|s|m)$/;
export const healthTimeoutMinutesMax = 10;
/** Longest time until the first byte of a response. */
export const firstByteMinutesMax = 10;
/** Instances of one process. */
export const instancesMax = 10;
/** Processes in addition to `web`. */
export const processesMax = 10;
/** `web` is the command `start`; `release` runs before a deployment goes live. */
export const processNamePattern = /^(?!(?:web|release)$)[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
export const sleepPattern = /^[1-9]\d{0,5}(?:s|m|h)$/;
export const sleepMinutes = { min: 5, max: 24 * 60 } as const;

export const schedulesMax = 20;
export const scheduleNamePattern = /^[a-z][a-z0-9-]{0,62}$/;
/** Five fields; a server checks their values when it deploys. */
export const scheduleCronPattern = /^(?:[0-9A-Za-z*/,#?-]+ +){4}[0-9A-Za-z*/,#?-]+$/;
export const scheduleMinutesMax = 24 * 60;

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch {
    return false;
  }
}

export function durationMs(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(digits) * ({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit] ?? 0);
}

/** `null`: the keys below are free-form. */
export interface ManifestKeys {
  readonly [key: string]: ManifestKeys | null;
}

/** Lets programs reject unknown keys without loading a schema. A test compares the keys with the shape. */
export const manifestKeys: ManifestKeys = {
  ...freeForm('name tenant'),
  app: freeForm(
    'slug subdomain summary description category auth_mode data_scopes resource_preset icon_url icon_dark_url',
  ),
  deploy: freeForm('method dockerfile compose_file branch'),
  build: freeForm('install command dir'),
  release: null,
  start: null,
  instances: null,
  processes: null,
  sleep: null,
  health: freeForm('path timeout'),
  timeouts: freeForm('first_byte'),
  schedules: null,
  static: freeForm('dir'),
  site: freeForm('index spa not_found clean_urls trailing_slash headers redirects'),
  storage: freeForm('enabled'),
  roles: null,
  tables: null,
  env: null,
  previews: freeForm('branches ttl seed'),
};

function freeForm(names: string): ManifestKeys {
  return Object.fromEntries(words(names).map((name) => [name, null]));
}
