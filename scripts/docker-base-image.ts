import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

export const busybox = '/bin/busybox';
export const baseImage = 'svc-test-base:1';

export async function makeBaseImage(
  folder: string,
  docker: (...words: string[]) => Promise<string>,
): Promise<void> {
  const top = join(folder, 'base');
  const put = (from: string, to: string) => {
    mkdirSync(dirname(join(top, to)), { recursive: true });
    copyFileSync(realpathSync(from), join(top, to));
    chmodSync(join(top, to), 0o755);
  };
  const node = realpathSync(Bun.which('node') ?? '');
  put(node, '/usr/local/bin/node');
  for (const [, library] of (await run('ldd', node)).matchAll(/(\/\S+)(?= \()/g))
    put(library ?? '', library ?? '');
  put(busybox, '/bin/busybox');
  for (const name of (await run(busybox, '--list')).trim().split('\n'))
    if (name !== 'busybox') symlinkSync('busybox', join(top, 'bin', name));
  mkdirSync(join(top, 'etc'), { recursive: true });
  writeFileSync(join(top, 'etc', 'passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  writeFileSync(join(top, 'etc', 'group'), 'root:x:0:\n');
  const certificates = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(certificates)) put(certificates, certificates);
  for (const [name, mode] of [
    ['tmp', 0o1777],
    ['root', 0o700],
  ] as const) {
    mkdirSync(join(top, name));
    chmodSync(join(top, name), mode);
  }
  const archive = join(folder, 'base.tar');
  await run('tar', '-C', top, '-cf', archive, '.');
  await docker('import', '--change', 'ENV PATH=/usr/local/bin:/usr/bin:/bin', archive, baseImage);
  rmSync(archive);
  rmSync(top, { recursive: true });
}

export async function run(program: string, ...words: string[]): Promise<string> {
  const child = Bun.spawn([program, ...words], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, said] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${program} ${words.join(' ')}: ${said || out}`);
  return out;
}
