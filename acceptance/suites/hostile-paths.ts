import type { Random } from '../support/random.ts';

/** Paths that an informed attacker would try. */
export interface KnownNames {
  /** Hosts of sites, without ports. */
  hosts: readonly string[];
  /** Paths of files that exist in a release, with and without fingerprints. */
  paths: readonly string[];
  /** Ids of blobs, apps, tenants and releases, and hashes: all internal names. */
  ids: readonly string[];
  /** Keys of the object store and paths of its folder. */
  places: readonly string[];
}

const ups = [
  '..',
  '.',
  '...',
  '%2e%2e',
  '%2E%2e',
  '.%2e',
  '%2e.',
  '%252e%252e',
  '%25252e%25252e',
  '..;',
  '..%00',
  '%c0%ae%c0%ae',
  '%e0%80%ae',
  '%uff0e%uff0e',
  '．．',
  '%ef%bc%8e%ef%bc%8e',
  '..%20',
  '..%09',
  '..%0d%0a',
];
const slashes = [
  '/',
  '/',
  '/',
  '/',
  '//',
  '%2f',
  '%2F',
  '%252f',
  '%5c',
  '%5C',
  '\\',
  '%255c',
  '%c0%af',
  '%ef%bc%8f',
  '／',
  '/./',
  '/%2e/',
  ';/',
  '%00/',
  '/%00',
  '/%20',
  '∕',
];
const ends = [
  '',
  '',
  '',
  '',
  '/',
  '//',
  '.',
  '..',
  '%20',
  '%00',
  '%00.html',
  '.html',
  '.html/',
  '?',
  '?x=1',
  '#',
  '%23',
  ';x',
  '%0a',
  '%0d%0aX-Bad:%201',
  '~',
  '.gz',
  '.br',
  '.bak',
  '::$DATA',
  '%',
  '%2',
  '%zz',
  '/index.html',
  '?/../../x',
  '?%2e%2e',
  '\t',
  '\x00',
  '\x7f',
  '\xff',
  '/.',
  '/..',
];
const known = [
  '.svc/',
  '.svc/auth',
  '.svc/logout',
  '.svc',
  '%2esvc/auth',
  '.git/config',
  '.env',
  'svc.yaml',
  'etc/passwd',
  'api/v1/me',
  'objects/x',
  'uploads/x',
  'healthz',
  'metrics',
  'schemas/site.json',
  'robots.txt',
  'c:/x',
  '.well-known/acme-challenge/x',
  'favicon.ico',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
];

/** A request target of HTTP; bytes as Latin-1. */
export function hostileTarget(random: Random, names: KnownNames): string {
  const kind = random.below(100);
  if (kind < 2) return random.pick(['*', '', '?', 'index.html', '//', '///', '/%', `/${'a'.repeat(9_000)}`]);
  const path = hostilePath(random, names);
  if (kind < 6)
    return `${random.pick(['http', 'HTTP', 'https', 'file'])}://${random.pick(names.hosts)}${path}`;
  if (kind < 8) return `//${random.pick(names.hosts)}${path}`;
  return path;
}

function hostilePath(random: Random, names: KnownNames): string {
  const parts = random.times(1 + Math.min(random.below(4), random.below(4)), () => part(random, names));
  let path = random.pick(slashes);
  if (path !== '/' && random.chance(0.7)) path = '/';
  for (const [at, one] of parts.entries()) path += (at > 0 ? random.pick(slashes) : '') + one;
  path += random.pick(ends);
  if (random.chance(0.1)) path = path.slice(0, random.below(path.length) + 1);
  // Spaces and the ends of lines would end the target itself.
  return utf8(path)
    .replaceAll(' ', '%20')
    .replaceAll(/[\r\n]/g, '%0a');
}

function part(random: Random, names: KnownNames): string {
  const kind = random.below(20);
  if (kind < 8) return disguised(random, random.pick(names.paths));
  if (kind < 12) return random.pick(ups);
  if (kind < 14) return disguised(random, random.pick(names.ids));
  if (kind < 16) return disguised(random, random.pick(names.places));
  if (kind < 18) return disguised(random, random.pick(known));
  return random.pick(names.hosts);
}

/** Another form of the name that a component might normalize to the same. */
function disguised(random: Random, text: string): string {
  switch (random.below(12)) {
    case 0:
      return text.toUpperCase();
    case 1:
      return text.normalize('NFD');
    case 2:
      return text.normalize('NFKD');
    case 3:
      return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
    case 4:
      return text.replaceAll('/', '%2f');
    case 5:
      return text.replaceAll('/', '\\');
    case 6:
      return encodeURIComponent(encodeURIComponent(text));
    case 7:
      return text.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
    default:
      return encodeURI(text);
  }
}

/** Host headers that name one of the sites, or try to name two. */
export function hostileHost(random: Random, names: KnownNames, port: number): string[] {
  const [host, other] = [random.pick(names.hosts), random.pick(names.hosts)];
  const plain = `${host}:${port}`;
  if (random.chance(0.75)) return [plain];
  return random.pick([
    [host],
    [host.toUpperCase()],
    [`${host}.`],
    [`${host}.:${port}`],
    [`${host}:1`],
    [`${host}:${port}`, `${other}:${port}`],
    [`${host}, ${other}`],
    [`${host}/${other}`],
    [`${host}@${other}`],
    [`${host}#${other}`],
    [`${host}%00.${other}`],
    [`x.${host}`],
    [`${host.replace('.', '%2e')}`],
    [`http://${host}`],
    ['127.0.0.1'],
    [`localhost:${port}`],
    [''],
    [],
    [`[::1]:${port}`],
    [`${'a'.repeat(300)}.apps.localhost`],
    ['..apps.localhost'],
    ['.apps.localhost'],
    ['apps.localhost'],
  ]);
}

const utf8 = (text: string) =>
  [...text].map((letter) => (letter <= '\xff' ? letter : Buffer.from(letter).toString('latin1'))).join('');
