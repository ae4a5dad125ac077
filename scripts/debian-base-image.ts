import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { run } from './docker-base-image.ts';

export const debianBaseImage = 'svc-test-debian:1';

/** What the image `node:<version>-bookworm-slim` has, and no more. */
const roots = [
  'apt',
  'base-passwd',
  'ca-certificates',
  'debian-archive-keyring',
  'libc-bin',
  'nodejs',
  'passwd',
];
/** npm may have been updated since its package was installed. */
const left = /^\/usr\/(?:share\/(?:doc|info|lintian|locale|man)|lib\/node_modules)\//;
const machineAuthorities = '/etc/ssl/machine.crt';
const links = ['bin', 'lib', 'lib64', 'sbin'];

/** An image of the Debian packages of this machine, for tests without a registry of images. */
export async function makeDebianBaseImage(
  folder: string,
  docker: (...words: string[]) => Promise<string>,
): Promise<void> {
  const top = join(folder, 'debian');
  const names = findPackages(await listInstalled());
  const paths = (await run('dpkg-query', '-L', ...names))
    .split('\n')
    .filter((path) => path.startsWith('/') && path !== '/.' && !left.test(path))
    .flatMap(withRealFolder);
  const state = [
    '/usr/lib/node_modules/npm',
    '/etc/alternatives',
    '/etc/ld.so.cache',
    '/etc/ssl/certs',
    '/var/lib/dpkg/info',
    '/etc/apt',
  ];
  mkdirSync(join(top, 'var/lib/dpkg/updates'), { recursive: true });
  mkdirSync(join(top, 'etc'));
  for (const name of links) symlinkSync(readlinkSync(join('/', name)), join(top, name));
  for (const name of ['passwd', 'group'])
    writeFileSync(
      join(top, 'etc', name),
      readFileSync(`/usr/share/base-passwd/${name}.master`, 'utf8').replaceAll(':*:', ':x:'),
    );
  writeFileSync(join(top, 'var/lib/dpkg/status'), statusOf(names));
  // With the authorities of this machine, which the package ca-certificates does not have.
  mkdirSync(join(top, 'etc/ssl'));
  copyFileSync('/etc/ssl/certs/ca-certificates.crt', join(top, machineAuthorities));
  const list = join(folder, 'files');
  writeFileSync(list, [...new Set(paths)].join('\n'));
  // Files may be in several of these lists, which an image must not have twice.
  const archive = join(folder, 'debian.tar');
  const others = [...state.map((path) => path.slice(1)), ...(await alternatives())];
  await run('tar', '-C', '/', '--no-recursion', '-cf', archive, '-T', list);
  await run('tar', '-C', top, '-xf', archive);
  await run('tar', '-C', '/', '-cf', archive, ...others);
  await run('tar', '-C', top, '-xf', archive);
  await run('tar', '-C', top, '-cf', archive, '.');
  await docker(
    'import',
    '--change',
    'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    '--change',
    `ENV NODE_EXTRA_CA_CERTS=${machineAuthorities}`,
    archive,
    debianBaseImage,
  );
  for (const path of [archive, top, list]) rmSync(path, { recursive: true });
}

interface Installed {
  isEssential: boolean;
  needs: readonly string[];
  provides: readonly string[];
}

async function listInstalled(): Promise<Map<string, Installed>> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query fills it in.
  const format = '${Package}\t${Essential}\t${Pre-Depends},${Depends}\t${Provides}\n';
  const plain = (text: string) => text.replace(/[:(].*$/, '').trim();
  const lines = (await run('dpkg-query', '-W', `-f=${format}`)).trim().split('\n');
  return new Map(
    lines.map((line) => {
      const [name = '', essential, needs = '', provides = ''] = line.split('\t');
      const alternatives = needs.split(/[,|]/).map(plain).filter(Boolean);
      const isEssential = essential === 'yes';
      return [name, { isEssential, needs: alternatives, provides: provides.split(',').map(plain) }];
    }),
  );
}

function findPackages(installed: ReadonlyMap<string, Installed>): string[] {
  const found = new Set<string>();
  const open = [
    ...roots,
    ...[...installed].filter(([, { isEssential }]) => isEssential).map(([name]) => name),
  ];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const one = installed.get(name);
    if (!one || found.has(name)) continue;
    found.add(name);
    open.push(...one.needs);
    for (const [other, { provides }] of installed)
      if (one.needs.some((need) => !installed.has(need) && provides.includes(need))) open.push(other);
  }
  return [...found].sort();
}

/** `/bin` and others are links, which an archive must not replace by folders. */
function withRealFolder(path: string): string[] {
  try {
    const real = join(realpathSync(dirname(path)), basename(path)).slice(1);
    return links.includes(real) ? [] : [real];
  } catch {
    return [];
  }
}

function statusOf(names: readonly string[]): string {
  const isThere = (part: string) => names.includes(/^Package: (.*)$/m.exec(part)?.[1] ?? '');
  const parts = readFileSync('/var/lib/dpkg/status', 'utf8').split('\n\n').filter(isThere);
  return `${parts.join('\n\n')}\n\n`;
}

/** Such as `/usr/bin/awk`, which no package owns. */
async function alternatives(): Promise<string[]> {
  const text = await run('find', '/usr/bin', '/usr/sbin', '-lname', '/etc/alternatives/*');
  return text
    .trim()
    .split('\n')
    .map((path) => path.slice(1));
}
