import { type BlobEncoding, blobKey } from '../static-sites/blob-key.ts';
import type { RuleHeaders } from './compile-config.ts';
import { isFingerprinted } from './is-fingerprinted.ts';
import { extensionOf, mediaTypeOf } from './media-types.ts';
import type { SiteFile } from './site-snapshot.ts';
import type { VisitedSite } from './visitors.ts';

/** One form of a file, with all that an answer says of it. Made once and shared by all answers. */
export interface FileForm {
  /** In the object store. */
  key: string;
  size: number;
  etag: string;
  headers: Readonly<Record<string, string>>;
  /** Of a 304. */
  unchangedHeaders: Readonly<Record<string, string>>;
}

/** A file as it is answered at one site: under these rules, with this status. */
export interface PreparedFile {
  status: 200 | 404;
  size: number;
  form(encoding: BlobEncoding): FileForm | null;
}

export interface FileSetting {
  site: VisitedSite & { isOpen: boolean };
  rules: RuleHeaders;
  status: 200 | 404;
  standsIn?: StandsIn | undefined;
}

/** A file that answers for a path that is not its own; `by-accept`: to another Accept, something else would have. */
export type StandsIn = 'always' | 'by-accept';

/** Names of what is kept for a year; pages, feeds and all else are asked about each time. */
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
  { site, rules, status, standsIn }: FileSetting,
  { encoding, size }: { encoding: BlobEncoding; size: number },
): FileForm {
  const etag = `${file.tag}${encoding === 'identity' ? '' : `-${encoding}`}"`;
  const hasForms = file.gzipSize !== null || file.brotliSize !== null;
  const varies = [...(standsIn === 'by-accept' ? ['accept'] : []), ...(hasForms ? ['accept-encoding'] : [])];
  const { 'cache-control': said, ...otherRules } = rules;
  const always = {
    'cache-control': cachingOf(file.path, { site, standsIn, said }),
    ...(status === 200 && { etag }),
    ...(varies.length > 0 && { vary: varies.join(', ') }),
    'x-content-type-options': 'nosniff',
    ...otherRules,
    // Whatever the site says: what is not published is not to be found.
    ...(site.hostKind === 'staging' && { 'x-robots-tag': 'noindex, nofollow' }),
  };
  const headers = Object.freeze({
    'content-type': mediaTypeOf(file.path),
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

function cachingOf(
  path: string,
  { site: { isOpen }, standsIn, said }: Pick<FileSetting, 'site' | 'standsIn'> & { said: string | undefined },
): string {
  // How long a path may be kept is said of what the site has there, not of what is shown for lack of it.
  if (standsIn) return askedEachTime(isOpen);
  if (said !== undefined) return isOpen ? said : unshared(said);
  const isPage = ['html', 'htm', 'xhtml'].includes(extensionOf(path));
  return !isPage && isFingerprinted(path)
    ? `${whoKeeps(isOpen)}, max-age=${yearSeconds}, immutable`
    : askedEachTime(isOpen);
}

function askedEachTime(isOpen: boolean): string {
  return `${whoKeeps(isOpen)}, max-age=0, must-revalidate`;
}

function whoKeeps(isOpen: boolean): string {
  return isOpen ? 'public' : 'private';
}

/** What not everybody may see must not be kept by caches that many share, whatever the site says. */
function unshared(caching: string): string {
  const parts = caching.split(',').map((part) => part.trim());
  const kept = parts.filter((part) => part !== '' && !/^(public|private|s-maxage\b.*)$/i.test(part));
  return ['private', ...kept].join(', ');
}
