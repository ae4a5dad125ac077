import { delimiter, dirname } from 'node:path';

type Variables = Readonly<Record<string, string>>;

export interface BaseEnvironment {
  path: string;
  forBuilds: Variables;
}

export interface Folders {
  home: string;
  tmp: string;
}

export const runIdVariable = 'SVC_RUN_ID';

/** Without `NODE_ENV`, so that development dependencies are installed too. */
export function buildEnvironment(
  baseEnvironment: BaseEnvironment,
  options: { job: Variables; folders: Folders },
): Record<string, string> {
  return {
    LANG: 'C.UTF-8',
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
    // The instance has another home folder than the build.
    YARN_ENABLE_GLOBAL_CACHE: 'false',
    YARN_ENABLE_TELEMETRY: 'false',
    ...baseEnvironment.forBuilds,
    ...options.job,
    ...platformVariables(baseEnvironment, options.folders),
  };
}

export function runEnvironment(
  baseEnvironment: BaseEnvironment,
  options: { job: Variables; folders: Folders; port: number; preload: string | null },
): Record<string, string> {
  const { NODE_OPTIONS: appOptions = '' } = options.job;
  return {
    LANG: 'C.UTF-8',
    NODE_ENV: 'production',
    npm_config_update_notifier: 'false',
    ...options.job,
    ...platformVariables(baseEnvironment, options.folders),
    PORT: String(options.port),
    HOST: '127.0.0.1',
    ...(options.preload === null
      ? {}
      : { NODE_OPTIONS: `--require ${JSON.stringify(options.preload)} ${appOptions}`.trim() }),
  };
}

function platformVariables({ path }: BaseEnvironment, { home, tmp }: Folders): Record<string, string> {
  return { PATH: path, HOME: home, TMPDIR: tmp };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A server started by npm has more settings: folders, which would confuse a build, and possibly tokens. */
const buildVariables =
  /^(?:(?:https?|no)_proxy|node_extra_ca_certs|ssl_cert_file|npm_config_(?:registry|proxy|https_proxy|http_proxy|noproxy|cafile|ca|strict_ssl|fetch_retries|fetch_timeout|maxsockets|prefer_offline))$/i;
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function readBaseEnvironment(env: Environment): BaseEnvironment {
  const node = env.npm_node_execpath || env.NODE;
  const folders = (env.PATH || defaultPath)
    .split(delimiter)
    .filter((folder) => folder !== '' && !/[\\/]node_modules[\\/]/.test(folder));
  const chosen = Object.entries(env).flatMap(([name, value]) =>
    buildVariables.test(name) && value !== undefined && !hasLogin(value) ? [[name, value] as const] : [],
  );
  return {
    path: [...new Set([...(node ? [dirname(node)] : []), ...folders])].join(delimiter),
    forBuilds: Object.fromEntries(chosen),
  };
}

/** Apps must not see a URL with a password. */
function hasLogin(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.username !== '' || url.password !== '');
}
