import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from '../rows/cleanup.ts';
import { freePort } from '../rows/start-server.ts';

export interface Contender {
  name: string;
  pid: number;
  port: number;
  host: string;
}

export interface WebTools {
  wrk: string;
  nginx: string;
  caddy: string;
}

export function findWebTools(): WebTools {
  const PATH = `${process.env.PATH}:/usr/sbin`;
  const find = (name: string) => Bun.which(name, { PATH });
  const found = { wrk: find('wrk'), nginx: find('nginx'), caddy: find('caddy') };
  const missing = Object.entries(found).flatMap(([name, path]) => (path === null ? [name] : []));
  if (missing.length > 0)
    throw new Error(`Missing: ${missing.join(', ')}. On Debian: apt install wrk nginx-light caddy.`);
  return found as WebTools;
}

/** One worker without a log and with cached file handles: the fastest configuration of nginx. */
export async function startNginx(
  nginx: string,
  options: { folder: string; cleanup: Cleanup; http?: string; server: string; path: string },
): Promise<Contender> {
  const { folder, cleanup, http = '', server, path } = options;
  const port = freePort();
  const config = join(folder, 'nginx.conf');
  const pidFile = join(folder, 'nginx.pid');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, `nginx-${name}`)};`,
  );
  writeFileSync(
    config,
    `worker_processes 1; daemon off; pid ${pidFile}; error_log ${join(folder, 'nginx.log')};
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types; ${temporary.join(' ')}
  access_log off; sendfile on; tcp_nopush on; etag on; gzip off; gzip_static off;
  keepalive_requests 1000000000; open_file_cache max=1000; open_file_cache_valid 60s;
  ${http}
  server { listen 127.0.0.1:${port}; ${server} }
}
`,
  );
  const child = Bun.spawn([nginx, '-c', config, '-p', folder], { stdout: 'ignore', stderr: 'ignore' });
  cleanup.child(child);
  await waitUntilServing(port, path);
  const worker = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0];
  return {
    name: `nginx ${readVersion([nginx, '-v'])}, 1 worker`,
    pid: Number(worker),
    port,
    host: '127.0.0.1',
  };
}

export async function startCaddy(
  caddy: string,
  options: { folder: string; files: string; cleanup: Cleanup; processors: number | null },
): Promise<Contender> {
  const { folder, files, cleanup, processors } = options;
  const port = freePort();
  const config = join(folder, `Caddyfile.${port}`);
  writeFileSync(
    config,
    `{\n admin off\n auto_https off\n}
http://:${port} {
 bind 127.0.0.1
 root * ${files}
 header Cache-Control "public, max-age=0, must-revalidate"
 header X-Content-Type-Options nosniff
 file_server
}
`,
  );
  const child = Bun.spawn([caddy, 'run', '--config', config, '--adapter', 'caddyfile'], {
    env: {
      ...process.env,
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
      ...(processors && { GOMAXPROCS: String(processors) }),
    },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  cleanup.child(child);
  await waitUntilServing(port, '/1k.css');
  const version = readVersion([caddy, 'version']);
  const name = `Caddy ${version}${processors ? `, GOMAXPROCS=${processors}` : ''}`;
  return { name, pid: child.pid, port, host: '127.0.0.1' };
}

async function waitUntilServing(port: number, path: string): Promise<void> {
  for (const until = performance.now() + 10_000; performance.now() < until; await Bun.sleep(20)) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
    if (answer?.ok) return;
  }
  throw new Error(`Nothing answers at port ${port}.`);
}

function readVersion(command: string[]): string {
  const { stdout, stderr } = Bun.spawnSync(command);
  return /\d+\.\d+\.\d+/.exec(`${stdout}${stderr}`)?.[0] ?? '';
}
