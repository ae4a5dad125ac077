import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guideExamples } from '../../scripts/guide-examples.ts';
import { endWith, type RunningServer } from './server.ts';
import { until } from './until.ts';

const program = Bun.which('caddy');
export const hasCaddy = program !== null;

/** The example of the guide, in front of this server: other names, no TLS and another path of the socket. */
export async function startCaddy(
  server: RunningServer,
  { socket, folder }: { socket: string; folder: string },
): Promise<void> {
  const [example = ''] = guideExamples('production.md', 'caddyfile');
  const changes: [string, string][] = [
    ['svc.example.com', `http://localhost:${server.port}`],
    ['*.example-apps.com', `http://*.apps.localhost:${server.port}`],
    ['unix//run/svc/svc.sock', `unix/${socket}`],
  ];
  const config = changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`The example does not contain ${from}.`);
      return text.replace(from, to);
    },
    example.replace(/^\s*tls .*\n/m, ''),
  );
  const file = join(folder, 'Caddyfile');
  writeFileSync(file, `{\n\tadmin off\n}\n${config}`);
  const child = Bun.spawn([program ?? '', 'run', '--config', file, '--adapter', 'caddyfile'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    stdin: 'ignore',
    stdout: Bun.file(join(folder, 'caddy.log')),
    stderr: Bun.file(join(folder, 'caddy.log')),
  });
  endWith(server, async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  await until('Caddy answers', async () => {
    if (child.exitCode !== null) throw new Error(readFileSync(join(folder, 'caddy.log'), 'utf8'));
    return (await fetch(`${server.baseUrl}/healthz`).catch(() => null))?.status === 200;
  });
}
