import { sitePlatformPrefix } from './static-sites.ts';
import { words } from './words.ts';

export const releaseFilesMax = 20_000;
export const releaseFileBytesMax = 25 * 1024 * 1024;
export const releaseBytesMax = 1024 ** 3;
export const sitePathBytesMax = 1_024;
export const siteSegmentBytesMax = 255;

const reservedNames = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

export function sitePathFault(path: string): string | null {
  if (path === '') return 'is empty';
  if (!path.isWellFormed()) return 'is not well-formed Unicode';
  if (path.normalize('NFC') !== path) return 'is not in the composed form of Unicode (NFC)';
  if (bytesOf(path) > sitePathBytesMax) return `is longer than ${sitePathBytesMax} bytes`;
  if (path.startsWith('/')) return 'begins with /';
  if (path.includes('\\')) return 'contains a backslash';
  if (/^[A-Za-z]:/.test(path)) return 'begins with a drive letter';
  if (/[\p{Cc}\u2028\u2029\ufeff]/u.test(path)) return 'contains a control character';
  if (/[#?]/.test(path)) return 'contains # or ?, which a URL path cannot contain';
  if (`/${foldedSitePath(path)}`.startsWith(sitePlatformPrefix))
    return `is below ${sitePlatformPrefix}, which is the platform's at every site`;
  for (const segment of path.split('/')) {
    const fault = segmentFault(segment);
    if (fault) return fault;
  }
  return null;
}

function segmentFault(segment: string): string | null {
  if (segment === '') return 'has an empty part';
  // Browsers decode %2e as a dot.
  if (/^(?:\.|%2e){1,2}$/i.test(segment)) return 'has the part . or ..';
  if (/^\s|[\s.]$/u.test(segment)) return 'has a part that begins or ends with a space, or ends with a dot';
  if (bytesOf(segment) > siteSegmentBytesMax) return `has a part longer than ${siteSegmentBytesMax} bytes`;
  if (reservedNames.test(segment)) return `has the part ${segment}, which is a device on some systems`;
  return null;
}

export function foldedSitePath(path: string): string {
  // Upper case in between: ß becomes SS, which lower case alone would not fold. Before it lower case: ẞ becomes ß.
  return path.normalize('NFC').toLowerCase().toUpperCase().toLowerCase().normalize('NFC');
}

export interface SitePathClash {
  path: string;
  other: string;
}

export function sitePathClash(paths: Iterable<string>): SitePathClash | null {
  const files = new Map<string, string>();
  for (const path of paths) {
    const folded = foldedSitePath(path);
    const other = files.get(folded);
    if (other !== undefined) return { path, other };
    files.set(folded, path);
  }
  for (const [folded, path] of files) {
    for (let at = folded.indexOf('/'); at >= 0; at = folded.indexOf('/', at + 1)) {
      const other = files.get(folded.slice(0, at));
      if (other !== undefined) return { path, other };
    }
  }
  return null;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Tool files and possible secrets. Other dotfiles are included, since `.well-known` is one of them. */
export function isLeftOutOfSite(name: string, depth: number): boolean {
  // On a case-insensitive file system, `.ENV` is read as `.env`.
  const lower = name.toLowerCase();
  if (depth === 0 && lower === '.svc') return true;
  return leftOutNames.has(lower) || leftOutPatterns.some((pattern) => pattern.test(lower));
}

const leftOutNames: ReadonlySet<string> = new Set(
  words(`
  .git .hg .svn node_modules .ds_store thumbs.db .env .envrc .npmrc .pypirc .netrc .pgpass .htpasswd
  .git-credentials .aws .ssh .gnupg
`),
);

const leftOutPatterns = [/^\.env\./, /^\..*\.sw[a-p]$/, /~$/, /^#.*#$/, /^\.#/];
