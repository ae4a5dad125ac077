/** `svc.yaml`: what a folder says about the app it holds. Its shape is in `manifest.shapes.ts`. */

/** The first is the name that `svc init` writes. */
export const manifestFileNames = ['svc.yaml', 'svc.yml'] as const;
export const manifestBytesMax = 64 * 1024;
/** Where the server publishes the JSON Schema. */
export const manifestSchemaPath = '/schemas/svc.yaml.json';

export const manifestEnvNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** Below the folder of `svc.yaml`: relative, with slashes, never upwards. */
export const manifestPathPattern =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  /^(?!\/)(?!(?:.*\/)?\.\.(?:\/|$))[^\\\u0000-\u001f\u007f]{1,255}$/;
export const manifestUrlPathPattern = /^\/[!-~]{0,254}$/;
export const manifestDurationPattern = /^[1-9]\d{0,5}(?:ms|s|m)$/;
/** An app that takes longer than this to answer is not waited for. */
export const healthTimeoutMinutesMax = 10;

/** Of a text by the pattern above. */
export function durationMs(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
  return Number(digits) * ({ ms: 1, s: 1_000, m: 60_000 }[unit] ?? 0);
}

/** `null`: whatever stands below is not a key of ours. */
export interface ManifestKeys {
  readonly [key: string]: ManifestKeys | null;
}

/**
 * Every key there is, for those who refuse unknown ones without loading a schema. A test compares it with the shape.
 */
export const manifestKeys: ManifestKeys = {
  name: null,
  tenant: null,
  app: {
    slug: null,
    subdomain: null,
    summary: null,
    description: null,
    category: null,
    auth_mode: null,
    data_scopes: null,
    resource_preset: null,
    icon_url: null,
    icon_dark_url: null,
  },
  deploy: { method: null, dockerfile: null, compose_file: null, branch: null },
  build: { command: null, dir: null },
  start: null,
  health: { path: null, timeout: null },
  static: { dir: null },
  site: {
    index: null,
    spa: null,
    not_found: null,
    clean_urls: null,
    trailing_slash: null,
    headers: null,
    redirects: null,
  },
  storage: { enabled: null },
  env: null,
};
