/** Compared segment by segment in linear time. */
export interface PathPattern {
  parts: readonly ({ text: string } | { name: string })[];
  texts: readonly { at: number; text: string }[];
  isOpen: boolean;
  isFolder: boolean;
  exact: string | null;
}

type Found = ReadonlyMap<string, readonly string[]>;

const splatName = 'splat';

const nothing: Found = new Map();

export function compilePattern(pattern: string): PathPattern {
  const segments = pattern.slice(1).split('/');
  const last = segments.at(-1);
  const isOpen = last === '*';
  const isFolder = last === '';
  if (isOpen || isFolder) segments.pop();
  const parts = segments.map((segment): PathPattern['parts'][number] => {
    const [, name] = /^:([A-Za-z][A-Za-z0-9_]*)$/.exec(segment) ?? [];
    return name === undefined ? { text: decodeSegment(segment) } : { name };
  });
  const texts = parts.flatMap((part, at) => ('text' in part ? [{ at, text: part.text }] : []));
  const isExact = !isOpen && texts.length === parts.length;
  const text = texts.map((part) => part.text).join('/');
  return { parts, texts, isOpen, isFolder, exact: isExact ? exactKey({ text, isFolder }) : null };
}

export function exactKey({ text, isFolder }: Pick<SitePath, 'text' | 'isFolder'>): string {
  return isFolder ? `${text}/` : text;
}

/** Allocates nothing. `/a/*` matches `/a/` and everything below, but not `/a`. */
export function isMatch({ parts, texts, isOpen, isFolder }: PathPattern, path: SitePath): boolean {
  const { segments } = path;
  if (isOpen) {
    if (segments.length < parts.length || (segments.length === parts.length && !path.isFolder)) return false;
  } else if (segments.length !== parts.length || path.isFolder !== isFolder) return false;
  for (const { at, text } of texts) if (segments[at] !== text) return false;
  return true;
}

export function matchPattern(pattern: PathPattern, path: SitePath): Found | null {
  if (!isMatch(pattern, path)) return null;
  const { parts, isOpen } = pattern;
  const { segments } = path;
  let found: Map<string, readonly string[]> | null = null;
  for (const [at, part] of parts.entries()) {
    if ('text' in part) continue;
    found ??= new Map();
    found.set(part.name, [segments[at] ?? '']);
  }
  if (!isOpen) return found ?? nothing;
  const rest = segments.slice(parts.length);
  if (path.isFolder && rest.length > 0) rest.push('');
  return new Map([...(found ?? nothing), [splatName, rest]]);
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment).normalize('NFC');
  } catch {
    return segment;
  }
}

export interface SitePath {
  segments: readonly string[];
  text: string;
  isFolder: boolean;
}

/** Null if invalid. Invalid paths are refused, not repaired, so that a proxy in front cannot read them as another file. */
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

export const root: SitePath = { segments: [], text: '', isFolder: true };

function isSegment(segment: string): boolean {
  return segment !== '' && segment !== '.' && segment !== '..';
}

function isDecodedSegment(segment: string): boolean {
  return isSegment(segment) && !/[/\\\p{Cc}\u2028\u2029\ufeff]/u.test(segment);
}

export function withSearch(target: string, search: string): string {
  if (search === '' || /^[^#]*\?/.test(target)) return target;
  const at = target.indexOf('#');
  const query = `?${search.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent)}`;
  return at < 0 ? target + query : target.slice(0, at) + query + target.slice(at);
}

export interface RedirectTarget {
  /** Scheme and host, empty within the site. Contains no placeholders: visitors cannot influence it. */
  origin: string;
  pieces: readonly ({ text: string } | { name: string })[];
}

export function compileTarget(to: string): RedirectTarget {
  const [origin = ''] = /^https?:\/\/[^/?#]*/.exec(to) ?? [];
  const pieces: RedirectTarget['pieces'][number][] = [];
  let from = origin.length;
  for (const match of to.slice(origin.length).matchAll(/:([A-Za-z][A-Za-z0-9_]*)/g)) {
    const at = origin.length + match.index;
    if (at > from) pieces.push({ text: to.slice(from, at) });
    pieces.push({ name: match[1] ?? '' });
    from = at + match[0].length;
  }
  if (from < to.length) pieces.push({ text: to.slice(from) });
  return { origin, pieces };
}

/** Values are percent-encoded, so that they stay within their path segment. */
export function fillTarget({ origin, pieces }: RedirectTarget, found: Found): string {
  let text = '';
  for (const piece of pieces) {
    if ('text' in piece) text += piece.text;
    else text += (found.get(piece.name) ?? []).map(encodeURIComponent).join('/');
  }
  // Leading slashes are collapsed: `//` would start a host.
  return origin === '' ? text.replace(/^\/+/, '/') : origin + text;
}
