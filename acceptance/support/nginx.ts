import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guideExamples } from '../../scripts/guide-examples.ts';
import { endWith, type RunningServer } from './server.ts';
import { until } from './until.ts';

// Not in the PATH of ordinary users.
const program = Bun.which('nginx') ?? (existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : null);
export const hasNginx = program !== null;

/** The example of the guide, in front of this server: other names, no TLS and another path of the socket. */
export async function startNginx(
  server: RunningServer,
  { socket, folder }: { socket: string; folder: string },
): Promise<void> {
  const [example = ''] = guideExamples('production.md', 'nginx');
  const changes: [string, string][] = [
    ['listen 443 ssl;', `listen 127.0.0.1:${server.port};`],
    ['svc.example.com *.example-apps.com', 'localhost *.apps.localhost'],
    ['unix:/run/svc/svc.sock', `unix:${socket}`],
  ];
  const config = changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`The example does not contain ${from}.`);
      return text.replace(from, to);
    },
    example.replace(/^\s*ssl_.*\n/gm, ''),
  );
  await runNginx(server, { config, folder });
}

/** The defaults of nginx: each request has a connection of its own to the server. */
export async function startPlainNginx(
  server: RunningServer,
  { upstream, folder }: { upstream: string; folder: string },
): Promise<void> {
  const config = `server {
  listen 127.0.0.1:${server.port};
  location / {
    proxy_pass http://${upstream};
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
  }
}
`;
  await runNginx(server, { config, folder });
}

async function runNginx(
  server: RunningServer,
  { config, folder }: { config: string; folder: string },
): Promise<void> {
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
  const log = join(folder, 'nginx.log');
  const child = Bun.spawn([program ?? '', '-e', log, '-c', file], {
    cwd: folder,
    stdin: 'ignore',
    stdout: Bun.file(log),
    stderr: Bun.file(log),
  });
  endWith(server, async () => {
    // Its workers end with it.
    child.kill('SIGTERM');
    await child.exited;
  });
  await until('nginx answers', async () => {
    if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8'));
    return (await fetch(`${server.baseUrl}/healthz`).catch(() => null))?.status === 200;
  });
}
