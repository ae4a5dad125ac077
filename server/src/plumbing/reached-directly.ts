type Environment = Readonly<Record<string, string | undefined>>;

const proxyNames = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'];
const thisMachine = ['localhost', '127.0.0.1', '::1'];

/**
 * A proxy that the environment names is for the world outside. What runs on this machine is reached directly: the
 * server itself, which is its own git host, and apps, which are told there who asks. Returns what to set, where
 * anything is to be set: Bun reads the variables at each request, the small spelling before the large one.
 */
export function reachedDirectly(env: Environment, hosts: readonly string[]): Record<string, string> {
  if (!proxyNames.some((name) => env[name])) return {};
  const named = [env.NO_PROXY, env.no_proxy].flatMap((list) => list?.split(',') ?? []);
  const all = [...named.map((host) => host.trim()), ...thisMachine, ...hosts];
  const direct = [...new Set(all.filter((host) => host !== ''))].join(',');
  return { NO_PROXY: direct, no_proxy: direct };
}
