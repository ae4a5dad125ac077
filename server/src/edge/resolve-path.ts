import type { CompiledConfig, Redirect } from './compile-config.ts';
import type { StandsIn } from './prepare-file.ts';
import { withSearch } from './redirect-target.ts';
import { pathOf, type SitePath, writePath } from './site-path.ts';
import type { SiteFile } from './site-snapshot.ts';

export interface Shown {
  files: ReadonlyMap<string, SiteFile>;
  config: CompiledConfig;
}

export type Resolved =
  | { kind: 'file'; file: SiteFile }
  | ({ kind: 'redirect' } & Redirect)
  /** The root's index in the place of a page that a script of the site makes. */
  | { kind: 'fallback'; file: SiteFile; standsIn: StandsIn }
  | { kind: 'missing'; standsIn: StandsIn };

/** Kept by browsers, and never turns a POST into a GET. */
const canonicalStatus = 308;

/** What answers at a path: found in the list of the release's files, and nowhere else. */
export function resolvePath(
  shown: Shown,
  { path, search, accept }: { path: SitePath; search: string; accept: () => string | null },
): Resolved {
  const { config } = shown;
  const redirect = config.redirectAt(path);
  if (redirect)
    return { kind: 'redirect', location: withSearch(redirect.location, search), status: redirect.status };
  const file = fileAt(shown, path);
  if (file) {
    const address = canonicalOf(shown, path, file);
    if (address === null) return { kind: 'file', file };
    return {
      kind: 'redirect',
      location: withSearch(writePath(address), search),
      status: canonicalStatus,
    };
  }
  const page = config.spa ? shown.files.get(config.index) : undefined;
  if (!page) return { kind: 'missing', standsIn: 'always' };
  // Scripts and pictures that are not there must not answer with a page.
  const standsIn = (path.segments.at(-1) ?? '').includes('.') ? 'by-accept' : 'always';
  const isPage = standsIn === 'always' || (accept() ?? '').includes('text/html');
  return isPage ? { kind: 'fallback', file: page, standsIn } : { kind: 'missing', standsIn };
}

/** The file that a path stands for, whether or not this is its proper address. */
function fileAt({ files, config }: Shown, { text, isFolder }: SitePath): SiteFile | undefined {
  const index = () => files.get(text === '' ? config.index : `${text}/${config.index}`);
  const page = () => (config.cleanUrls && text !== '' ? files.get(`${text}.html`) : undefined);
  return isFolder ? (index() ?? page()) : (files.get(text) ?? page() ?? index());
}

/**
 * Where one should have asked; null: here. Only where that address leads to this very file and no further, so that no
 * file gets out of reach and no redirect leads to another of these.
 */
function canonicalOf(shown: Shown, path: SitePath, file: SiteFile): SitePath | null {
  const isByName = !path.isFolder && path.text === file.path;
  if (isByName && !shown.config.cleanUrls) return null;
  const address = addressOf(shown.config, file.path);
  if (address.text === path.text && address.isFolder === path.isFolder) return null;
  return fileAt(shown, address) === file ? address : null;
}

function addressOf({ index, cleanUrls, trailingSlash }: CompiledConfig, file: string): SitePath {
  if (file === index) return pathOf('', true);
  if (file.endsWith(`/${index}`)) return pathOf(file.slice(0, -index.length - 1), trailingSlash !== false);
  if (cleanUrls && /[^/]\.html$/.test(file)) return pathOf(file.slice(0, -5), trailingSlash === true);
  return pathOf(file, false);
}
