type OidcProviderModule = typeof import('oidc-provider');

let loaded: Promise<OidcProviderModule> | undefined;

/** The library warns at import that it is not tested on this runtime. That is known; any other warning passes. */
export function loadOidcProvider(): Promise<OidcProviderModule> {
  loaded ??= importQuietly();
  return loaded;
}

async function importQuietly(): Promise<OidcProviderModule> {
  const { warn } = console;
  console.warn = (...args: unknown[]) => {
    if (!String(args[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...args);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}
