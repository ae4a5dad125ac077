type Environment = Readonly<Record<string, string | undefined>>;

const proxyNames = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'];
const localHosts = ['localhost', '127.0.0.1', '::1'];

/** Keeps requests to this machine away from a configured proxy. Bun reads the lower-case variable first. */
export function noProxyEnvironment(env: Environment, hosts: readonly string[]): Record<string, string> {
  if (!proxyNames.some((name) => env[name])) return {};
  const configured = [env.NO_PROXY, env.no_proxy].flatMap((list) => list?.split(',') ?? []);
  const all = [...configured.map((host) => host.trim()), ...localHosts, ...hosts];
  const list = [...new Set(all.filter((host) => host !== ''))].join(',');
  return { NO_PROXY: list, no_proxy: list };
}
