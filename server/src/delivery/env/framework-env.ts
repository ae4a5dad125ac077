interface FrameworkEnv {
  build: Readonly<Record<string, string>>;
  run: Readonly<Record<string, string>>;
}

/** What adapters of frameworks read to choose a form of server, and to know the address of the app behind a proxy. */
const frameworks: Readonly<Record<string, (url: string | undefined) => FrameworkEnv>> = {
  sveltekit: (url) => ({
    // With this, adapter-auto builds a server for Node.js.
    build: { GCP_BUILDPACKS: 'svc' },
    run: {
      ...(url === undefined ? {} : { ORIGIN: url }),
      PROTOCOL_HEADER: 'x-forwarded-proto',
      HOST_HEADER: 'x-forwarded-host',
      ADDRESS_HEADER: 'x-forwarded-for',
    },
  }),
  nuxt: () => ({ build: { NITRO_PRESET: 'node-server' }, run: {} }),
  nextjs: () => ({ build: { NEXT_TELEMETRY_DISABLED: '1' }, run: { NEXT_TELEMETRY_DISABLED: '1' } }),
  astro: () => ({ build: { ASTRO_TELEMETRY_DISABLED: '1' }, run: {} }),
  rails: () => ({
    build: { RAILS_ENV: 'production' },
    run: { RAILS_ENV: 'production', RAILS_SERVE_STATIC_FILES: '1', RAILS_LOG_TO_STDOUT: '1' },
  }),
  // Without it, what an app prints is in its log only when it ends.
  python: () => ({ build: { PYTHONUNBUFFERED: '1' }, run: { PYTHONUNBUFFERED: '1' } }),
};

export function frameworkEnv(
  framework: string | null | undefined,
  { SVC_APP_URL }: Readonly<Record<string, string>>,
): FrameworkEnv {
  return frameworks[framework ?? '']?.(SVC_APP_URL?.replace(/\/$/, '')) ?? { build: {}, run: {} };
}
