import type { SitePath } from './site-path.ts';

/** A path of a rule: compared part by part, once from left to right, so that no address makes it slow. */
export interface PathPattern {
  /** A text that must stand there, or the name that what stands there gets. */
  parts: readonly ({ text: string } | { name: string })[];
  /** `*` at the end: anything below. */
  isOpen: boolean;
  /** Of one that is not open: it ends with a slash. */
  isFolder: boolean;
  /** The one path that it stands for, or null where it has variable parts. */
  exact: string | null;
}

/** What stood in the place of each name; `splat` of `*`. */
export type Found = ReadonlyMap<string, readonly string[]>;

export const splatName = 'splat';
const nothing: Found = new Map();

export function compilePattern(pattern: string): PathPattern {
  const segments = pattern.slice(1).split('/');
  const last = segments.at(-1);
  const isOpen = last === '*';
  const isFolder = last === '';
  if (isOpen || isFolder) segments.pop();
  const parts = segments.map((segment) => {
    const [, name] = /^:([A-Za-z][A-Za-z0-9_]*)$/.exec(segment) ?? [];
    return name === undefined ? { text: decoded(segment) } : { name };
  });
  const texts = parts.flatMap((part) => ('text' in part ? [part.text] : []));
  const isExact = !isOpen && texts.length === parts.length;
  return { parts, isOpen, isFolder, exact: isExact ? exactKey({ text: texts.join('/'), isFolder }) : null };
}

/** Two paths are alike exactly when these are. */
export function exactKey({ text, isFolder }: Pick<SitePath, 'text' | 'isFolder'>): string {
  return isFolder ? `${text}/` : text;
}

/** Null where it does not fit. `/a/*` fits what is below `/a/`, and `/a/` itself; not `/a`. */
export function matchPattern(pattern: PathPattern, path: SitePath): Found | null {
  const { parts, isOpen } = pattern;
  const { segments } = path;
  if (isOpen) {
    if (segments.length < parts.length || (segments.length === parts.length && !path.isFolder)) return null;
  } else if (segments.length !== parts.length || path.isFolder !== pattern.isFolder) return null;
  let found: Map<string, readonly string[]> | null = null;
  for (const [at, part] of parts.entries()) {
    const segment = segments[at] ?? '';
    if ('text' in part) {
      if (part.text !== segment) return null;
    } else {
      found ??= new Map();
      found.set(part.name, [segment]);
    }
  }
  if (!isOpen) return found ?? nothing;
  const rest = segments.slice(parts.length);
  // What ended with a slash still does.
  if (path.isFolder && rest.length > 0) rest.push('');
  return new Map([...(found ?? nothing), [splatName, rest]]);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment).normalize('NFC');
  } catch {
    return segment;
  }
}
