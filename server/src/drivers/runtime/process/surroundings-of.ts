import { delimiter, dirname } from 'node:path';
import type { Surroundings } from './environment.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Of npm's settings only those that say how packages are reached. A server that npm started has many more: its own
 * folders, which would lead a build astray, and maybe tokens, which are no app's business.
 */
const forBuilds =
  /^(?:(?:https?|no)_proxy|node_extra_ca_certs|ssl_cert_file|npm_config_(?:registry|proxy|https_proxy|http_proxy|noproxy|cafile|ca|strict_ssl|fetch_retries|fetch_timeout|maxsockets|prefer_offline))$/i;
const pathDefault = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The machine's tools, and first of them the node that the server was started with. */
export function surroundingsOf(env: Environment): Surroundings {
  const node = env.npm_node_execpath || env.NODE;
  const folders = (env.PATH || pathDefault)
    .split(delimiter)
    // npm puts the server's own programs there, which are none of the machine's.
    .filter((folder) => folder !== '' && !/[\\/]node_modules[\\/]/.test(folder));
  const chosen = Object.entries(env).flatMap(([name, value]) =>
    forBuilds.test(name) && value !== undefined && !hasLogin(value) ? [[name, value] as const] : [],
  );
  return {
    path: [...new Set([...(node ? [dirname(node)] : []), ...folders])].join(delimiter),
    forBuilds: Object.fromEntries(chosen),
  };
}

/** A proxy or a registry with a name and a password in its address is the server's alone. */
function hasLogin(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.username !== '' || url.password !== '');
}
