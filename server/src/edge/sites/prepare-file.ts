import { fileExtension, mediaType } from '@svc/contract/media-types.ts';
import { words } from '@svc/contract/words.ts';
import { type BlobEncoding, blobKey } from '../../delivery/static-sites/blobs.ts';
import type { VisitedSite } from '../visitors/visitors.ts';
import type { RuleHeaders } from './compile-config.ts';
import type { SiteFile } from './site-cache.ts';

export interface FileForm {
  key: string;
  size: number;
  etag: string;
  headers: Readonly<Record<string, string>>;
  unchangedHeaders: Readonly<Record<string, string>>;
}

export interface PreparedFile {
  status: 200 | 404;
  size: number;
  form(encoding: BlobEncoding): FileForm | null;
}

interface FileSetting {
  site: VisitedSite & { isOpen: boolean };
  rules: RuleHeaders;
  status: 200 | 404;
  fallbackKind?: FallbackKind | undefined;
}

export type FallbackKind = 'always' | 'by-accept';

const yearSeconds = 31_536_000;

export function prepareFile(file: SiteFile, setting: FileSetting): PreparedFile {
  const forms = new Map<BlobEncoding, FileForm | null>();
  const sizes = { identity: file.size, gzip: file.gzipSize, br: file.brotliSize };
  return {
    status: setting.status,
    size: file.size,
    form(encoding) {
      const known = forms.get(encoding);
      if (known !== undefined) return known;
      const size = sizes[encoding];
      const made = size === null ? null : makeForm(file, setting, { encoding, size });
      forms.set(encoding, made);
      return made;
    },
  };
}

function makeForm(
  file: SiteFile,
  { site, rules, status, fallbackKind }: FileSetting,
  { encoding, size }: { encoding: BlobEncoding; size: number },
): FileForm {
  const etag = `${file.tag}${encoding === 'identity' ? '' : `-${encoding}`}"`;
  const hasForms = file.gzipSize !== null || file.brotliSize !== null;
  const varies = [
    ...(fallbackKind === 'by-accept' ? ['accept'] : []),
    ...(hasForms ? ['accept-encoding'] : []),
  ];
  const { 'cache-control': said, ...otherRules } = rules;
  const always = {
    'cache-control': cacheControl(file.path, { site, fallbackKind, said }),
    ...(status === 200 && { etag }),
    ...(varies.length > 0 && { vary: varies.join(', ') }),
    'x-content-type-options': 'nosniff',
    ...otherRules,
    // Overrides the rules of the site.
    ...(site.hostKind === 'staging' && { 'x-robots-tag': 'noindex, nofollow' }),
  };
  const headers = Object.freeze({
    'content-type': mediaType(file.path),
    'content-length': String(size),
    ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    ...(encoding === 'identity' && status === 200 && { 'accept-ranges': 'bytes' }),
    ...always,
  });
  return {
    key: blobKey(site, file.blobId, encoding),
    size,
    etag,
    headers,
    unchangedHeaders: Object.freeze(always),
  };
}

function cacheControl(
  path: string,
  {
    site: { isOpen },
    fallbackKind,
    said,
  }: Pick<FileSetting, 'site' | 'fallbackKind'> & { said: string | undefined },
): string {
  // Cache rules apply to the site's own file at the path, not to its replacement.
  if (fallbackKind) return revalidation(isOpen);
  if (said !== undefined) return isOpen ? said : privateCacheControl(said);
  const isPage = ['html', 'htm', 'xhtml'].includes(fileExtension(path));
  return !isPage && isFingerprinted(path)
    ? `${cacheScope(isOpen)}, max-age=${yearSeconds}, immutable`
    : revalidation(isOpen);
}

function revalidation(isOpen: boolean): string {
  return `${cacheScope(isOpen)}, max-age=0, must-revalidate`;
}

function cacheScope(isOpen: boolean): string {
  return isOpen ? 'public' : 'private';
}

/** Shared caches must not store restricted content, whatever the site's headers are. */
function privateCacheControl(caching: string): string {
  const directives = caching.split(',').map((part) => part.trim());
  const allowed = directives.filter((part) => part !== '' && !/^(public|private|s-maxage\b.*)$/i.test(part));
  return ['private', ...allowed].join(', ');
}

export interface PreparedFiles {
  at(path: string): PreparedFile | undefined;
  cacheAt(path: string, file: PreparedFile): void;
  prepare(file: SiteFile, setting: Omit<FileSetting, 'site'>): PreparedFile;
}

const cachedMax = 4_096;

export function createPreparedFiles(site: FileSetting['site']): PreparedFiles {
  const byPath = new Map<string, PreparedFile>();
  /** Equal inputs return the same object, so that a listener can cache what it derives from it. */
  const byRules = new Map<RuleHeaders, Map<string, PreparedFile>>();
  let cachedCount = 0;

  return {
    at: (path) => byPath.get(path),
    cacheAt(path, file) {
      if (byPath.size < cachedMax) byPath.set(path, file);
    },
    prepare(file, setting) {
      const { rules, status, fallbackKind } = setting;
      const made = byRules.get(rules) ?? new Map<string, PreparedFile>();
      const key = `${status} ${fallbackKind} ${file.path}`;
      const known = made.get(key);
      if (known) return known;
      const prepared = prepareFile(file, { site, ...setting });
      if (cachedCount < cachedMax) {
        byRules.set(rules, made.set(key, prepared));
        cachedCount++;
      }
      return prepared;
    },
  };
}

const code = words('js mjs cjs css');
/** Only here is mixed-case text such as `iPhone15Pro` taken for a hash: people rarely name these files by hand. */
const built = [...code, ...words('wasm woff2 woff ttf otf eot')];
const assets = [...built, ...words('svg png jpg jpeg gif webp avif ico mp4 webm mp3 ogg')];

/** Whether browsers may cache the name for a year. A missed hash costs a request; a false one, a year of a stale file. */
export function isFingerprinted(path: string): boolean {
  const own = path.replace(/\.map$/i, '');
  const extension = fileExtension(own);
  if (!assets.includes(extension)) return false;
  const name = own.slice(own.lastIndexOf('/') + 1, -extension.length - 1);
  const [, last = ''] = /[._-]([A-Za-z0-9]{8,64})$/.exec(name) ?? [];
  if (/^[0-9a-f]+$/.test(last) && /\d/.test(last) && /[a-f]/.test(last)) return true;
  if (built.includes(extension) && isRandomText(last)) return true;
  // Eight base64url characters, as Vite writes them, may contain separators.
  const [, eight = ''] = (code.includes(extension) && /[._-]([A-Za-z0-9_-]{8})$/.exec(name)) || [];
  return isRandomText(eight);
}

/** Mixed case with digits, and not only digits after words as in `Holiday2024`. */
function isRandomText(text: string): boolean {
  return text.length >= 8 && /[A-Z]/.test(text) && /[a-z]/.test(text) && /\d[_-]*[A-Za-z]/.test(text);
}

type EncodingOrder = readonly BlobEncoding[];

const asIs: EncodingOrder = ['identity'];
const ours = ['br', 'gzip', 'identity'] as const;
const cachedOrdersMax = 200;
const cached = new Map<string, EncodingOrder>();

/** By the quality values of Accept-Encoding (RFC 9110, 12.5.3), then by size. */
export function encodingOrder(acceptEncoding: string | null): EncodingOrder {
  if (acceptEncoding === null) return asIs;
  const known = cached.get(acceptEncoding);
  if (known) return known;
  const order = readOrder(acceptEncoding);
  if (cached.size < cachedOrdersMax) cached.set(acceptEncoding, order);
  return order;
}

function readOrder(header: string): EncodingOrder {
  const worth = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [, name, q = '1'] =
      /^\s*([!#$%&'*+.^_`|~0-9a-z-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/.exec(part) ?? [];
    if (name !== undefined) worth.set(name === 'x-gzip' ? 'gzip' : name, Math.min(Number(q), 1));
  }
  const rest = worth.get('*') ?? 0;
  // `identity` is acceptable unless excluded, and never preferred.
  const worthOf = (name: BlobEncoding) => worth.get(name) ?? (name === 'identity' ? rest || 0.0001 : rest);
  const identity = worthOf('identity');
  const better = ours.filter((name) => name !== 'identity' && worthOf(name) > 0 && worthOf(name) >= identity);
  return [...better.sort((a, b) => worthOf(b) - worthOf(a)), 'identity'];
}
