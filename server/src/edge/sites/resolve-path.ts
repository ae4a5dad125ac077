import { rewriteStatus } from '@svc/contract/site-config.ts';
import type { CompiledConfig, Redirect } from './compile-config.ts';
import { readPath, root, type SitePath, withSearch } from './path-pattern.ts';
import type { FallbackKind } from './prepare-file.ts';
import type { SiteFile } from './site-cache.ts';

export interface ReleaseFiles {
  files: ReadonlyMap<string, SiteFile>;
  config: CompiledConfig;
}

export type Resolved =
  | { kind: 'file'; file: SiteFile }
  | ({ kind: 'redirect' } & Redirect)
  | { kind: 'fallback'; file: SiteFile; fallbackKind: FallbackKind }
  | { kind: 'missing'; fallbackKind: FallbackKind };

/** Permanent, and keeps the method. */
const canonicalStatus = 308;

export function resolvePath(
  release: ReleaseFiles,
  { path, search, accept }: { path: SitePath; search: string; accept: () => string | null },
): Resolved {
  const { config } = release;
  const redirected = follow(release, config.redirectAt(path), search);
  if (redirected) return redirected;
  const file = fileAt(release, path);
  if (file) {
    const address = canonicalPath(release, path, file);
    if (address === null) return { kind: 'file', file };
    return {
      kind: 'redirect',
      location: withSearch(writePath(address), search),
      status: canonicalStatus,
    };
  }
  const instead = follow(release, config.redirectMissing(path), search);
  if (instead) return instead;
  const page = config.spa ? release.files.get(config.index) : undefined;
  if (!page) return { kind: 'missing', fallbackKind: 'always' };
  // A missing script or image must not get an HTML page.
  const fallbackKind = (path.segments.at(-1) ?? '').includes('.') ? 'by-accept' : 'always';
  const isPage = fallbackKind === 'always' || (accept() ?? '').includes('text/html');
  return isPage ? { kind: 'fallback', file: page, fallbackKind } : { kind: 'missing', fallbackKind };
}

function follow(release: ReleaseFiles, rule: Redirect | null, search: string): Resolved | null {
  if (!rule) return null;
  const { location, status } = rule;
  if (status !== rewriteStatus) return { kind: 'redirect', location: withSearch(location, search), status };
  const target = readPath(location.replace(/[?#].*$/, ''));
  const file = target ? fileAt(release, target) : undefined;
  return file ? { kind: 'fallback', file, fallbackKind: 'always' } : null;
}

function fileAt({ files, config }: ReleaseFiles, { text, isFolder }: SitePath): SiteFile | undefined {
  const index = () => files.get(text === '' ? config.index : `${text}/${config.index}`);
  const page = () => (config.cleanUrls && text !== '' ? files.get(`${text}.html`) : undefined);
  return isFolder ? (index() ?? page()) : (files.get(text) ?? page() ?? index());
}

/** Null if the path is canonical. Only a path that resolves to the same file counts, so that redirects cannot loop. */
function canonicalPath(release: ReleaseFiles, path: SitePath, file: SiteFile): SitePath | null {
  const isByName = !path.isFolder && path.text === file.path;
  if (isByName && !release.config.cleanUrls) return null;
  const address = fileUrlPath(release.config, file.path);
  if (address.text === path.text && address.isFolder === path.isFolder) return null;
  return fileAt(release, address) === file ? address : null;
}

function fileUrlPath({ index, cleanUrls, trailingSlash }: CompiledConfig, file: string): SitePath {
  if (file === index) return pathOf('', true);
  if (file.endsWith(`/${index}`)) return pathOf(file.slice(0, -index.length - 1), trailingSlash !== false);
  if (cleanUrls && /[^/]\.html$/.test(file)) return pathOf(file.slice(0, -5), trailingSlash === true);
  return pathOf(file, false);
}

/** Encoded, so that segments cannot produce a leading `//` or a header injection. */
export function writePath({ segments, isFolder }: Pick<SitePath, 'segments' | 'isFolder'>): string {
  const path = `/${segments.map(encodeURIComponent).join('/')}`;
  return isFolder && segments.length > 0 ? `${path}/` : path;
}

function pathOf(text: string, isFolder: boolean): SitePath {
  return text === '' ? root : { segments: text.split('/'), text, isFolder };
}
