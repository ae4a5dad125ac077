import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guideExamples } from '../../scripts/guide-examples.ts';
import type { Certificate } from './certificate.ts';
import { endWith, type RunningServer } from './server.ts';
import { until } from './until.ts';

const caddy = Bun.which('caddy');
export const hasCaddy = caddy !== null;
// Not in the PATH of ordinary users.
const nginx = Bun.which('nginx') ?? (existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : null);
export const hasNginx = nginx !== null;

interface Setup {
  socket: string;
  folder: string;
  tls?: Certificate;
}

/** An example of the guide with other names and paths, and no TLS unless there is a certificate. */
function exampleOf(language: string, { tls }: Setup, tlsLine: RegExp, changes: [from: string, to: string][]) {
  const [example = ''] = guideExamples('production.md', language);
  return changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`The example does not contain ${from}.`);
      return text.replace(from, to);
    },
    tls ? example : example.replace(tlsLine, ''),
  );
}

/** As in the guide, in front of this server. */
export async function startCaddy(server: RunningServer, setup: Setup): Promise<void> {
  const { socket, folder, tls } = setup;
  const scheme = tls ? 'https' : 'http';
  const config = exampleOf('caddyfile', setup, /^\s*tls .*\n/m, [
    ['svc.example.com', `${scheme}://localhost:${server.port}`],
    ['*.example-apps.com', `${scheme}://*.apps.localhost:${server.port}`],
    ['unix//run/svc/svc.sock', `unix/${socket}`],
    ...(tls ? [pair('/etc/svc/fullchain.pem /etc/svc/privkey.pem', `${tls.cert} ${tls.key}`)] : []),
  ]);
  const file = join(folder, 'Caddyfile');
  writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${config}`);
  const command = [caddy ?? '', 'run', '--config', file, '--adapter', 'caddyfile'];
  endWith(server, await startProxy(server, command, { folder, ca: tls?.ca }));
}

const pair = (from: string, to: string): [string, string] => [from, to];

/** As in the guide, in front of this server. */
export async function startNginx(server: RunningServer, setup: Setup): Promise<void> {
  const { socket, folder, tls } = setup;
  const config = exampleOf('nginx', setup, /^\s*ssl_.*\n/gm, [
    ['listen 443 ssl;', `listen 127.0.0.1:${server.port}${tls ? ' ssl' : ''};`],
    ['svc.example.com *.example-apps.com', 'localhost *.apps.localhost'],
    ['unix:/run/svc/svc.sock', `unix:${socket}`],
    ...(tls ? [pair('/etc/svc/fullchain.pem', tls.cert), pair('/etc/svc/privkey.pem', tls.key)] : []),
  ]);
  endWith(server, await runNginx(server, { config, folder, ca: tls?.ca }));
}

/** The defaults of nginx: each request has a connection of its own to one of the servers. `keeps`: as since nginx 1.29.7, or where it is configured. */
export async function startPlainNginx(
  server: Pick<RunningServer, 'port' | 'baseUrl'>,
  { upstreams, folder, keeps = false }: { upstreams: readonly string[]; folder: string; keeps?: boolean },
): Promise<() => Promise<void>> {
  const config = `upstream copies {
${upstreams.map((upstream) => `  server ${upstream};\n`).join('')}${keeps ? '  keepalive 32;\n' : ''}}
server {
  listen 127.0.0.1:${server.port};
  location / {
    proxy_pass http://copies;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
${keeps ? '    proxy_http_version 1.1;\n    proxy_set_header Connection "";\n' : ''}  }
}
`;
  return runNginx(server, { config, folder });
}

async function runNginx(
  server: Pick<RunningServer, 'port' | 'baseUrl'>,
  { config, folder, ca }: { config: string; folder: string; ca?: string },
): Promise<() => Promise<void>> {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const file = join(folder, 'nginx.conf');
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    file,
    `${user}\ndaemon off;\npid ${join(folder, 'nginx.pid')};\nerror_log ${join(folder, 'error.log')};
events {}\nhttp {\naccess_log off;\n${folders.join('\n')}\n${config}}\n`,
  );
  return startProxy(server, [nginx ?? '', '-e', join(folder, 'error.log'), '-c', file], { folder, ca });
}

async function startProxy(
  server: Pick<RunningServer, 'baseUrl'>,
  command: string[],
  { folder, ca }: { folder: string; ca?: string },
): Promise<() => Promise<void>> {
  const log = join(folder, 'proxy.log');
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    stdin: 'ignore',
    stdout: Bun.file(log),
    stderr: Bun.file(log),
  });
  const stop = async () => {
    // The workers of nginx end with it; Caddy would wait for open connections.
    child.kill(command[0] === caddy ? 'SIGKILL' : 'SIGTERM');
    await child.exited;
  };
  await until(`${command[0]} answers`, async () => {
    if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8'));
    const options = { tls: { ca } } as RequestInit;
    return (await fetch(`${server.baseUrl}/healthz`, options).catch(() => null))?.status === 200;
  }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return stop;
}
