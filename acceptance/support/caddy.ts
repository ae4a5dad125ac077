import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endWith, type RunningServer, root } from './server.ts';
import { until } from './until.ts';

const program = Bun.which('caddy');
export const hasCaddy = program !== null;

/** A code block of a guide. */
export function guideExample(guide: string, language: string): string {
  const text = readFileSync(join(root, 'docs', 'guides', guide), 'utf8');
  const found = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1];
  if (!found) throw new Error(`docs/guides/${guide} has no example in ${language}.`);
  return found;
}

/** The example of the guide, in front of this server: other names, no TLS and another path of the socket. */
export async function startCaddy(
  server: RunningServer,
  { socket, folder }: { socket: string; folder: string },
): Promise<void> {
  const example = guideExample('production.md', 'caddyfile');
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
