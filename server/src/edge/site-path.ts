/** The path of a request, decoded once: what it is compared by, with rules and with names of files. */
export interface SitePath {
  /** Without empty ones; none of the root. */
  segments: readonly string[];
  /** The segments with `/` between them: as releases name files. */
  text: string;
  /** It ends with a slash, as the root does. */
  isFolder: boolean;
}

const root: SitePath = { segments: [], text: '', isFolder: true };

/**
 * Null for what no address of a file looks like. Refused rather than repaired: whatever reads it differently before us,
 * a cache or a proxy, can not be led to another file.
 */
export function readPath(raw: string): SitePath | null {
  if (raw === '/') return root;
  if (!/^\/[!-~]*$/.test(raw) || raw.includes('\\')) return null;
  const isFolder = raw.endsWith('/');
  const segments = raw.slice(1, isFolder ? -1 : undefined).split('/');
  if (raw.includes('%')) {
    try {
      for (const [at, segment] of segments.entries()) segments[at] = decodeURIComponent(segment);
    } catch {
      return null;
    }
    if (!segments.every(isDecodedSegment)) return null;
    for (const [at, segment] of segments.entries()) segments[at] = segment.normalize('NFC');
  } else if (!segments.every(isSegment)) return null;
  return { segments, text: segments.join('/'), isFolder };
}

/** As it stands in an address, whatever the segments are: never a second slash at the front, never the end of a header. */
export function writePath({ segments, isFolder }: Pick<SitePath, 'segments' | 'isFolder'>): string {
  const path = `/${segments.map(encodeURIComponent).join('/')}`;
  return isFolder && segments.length > 0 ? `${path}/` : path;
}

export function pathOf(text: string, isFolder: boolean): SitePath {
  return text === '' ? root : { segments: text.split('/'), text, isFolder };
}

function isSegment(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..';
}

function isDecodedSegment(segment: string): boolean {
  return isSegment(segment) && !/[/\\\p{Cc}\u2028\u2029\ufeff]/u.test(segment);
}
