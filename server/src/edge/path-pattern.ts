import type { SitePath } from './site-path.ts';

/** A path of a rule: compared part by part, once from left to right, so that no address makes it slow. */
export interface PathPattern {
  /** A text that must stand there, or the name that what stands there gets. */
  parts: readonly ({ text: string } | { name: string })[];
  /** Those of the parts that are texts, with their places: compared first, since most patterns do not fit. */
  texts: readonly { at: number; text: string }[];
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
  const parts = segments.map((segment): PathPattern['parts'][number] => {
    const [, name] = /^:([A-Za-z][A-Za-z0-9_]*)$/.exec(segment) ?? [];
    return name === undefined ? { text: decoded(segment) } : { name };
  });
  const texts = parts.flatMap((part, at) => ('text' in part ? [{ at, text: part.text }] : []));
  const isExact = !isOpen && texts.length === parts.length;
  const text = texts.map((part) => part.text).join('/');
  return { parts, texts, isOpen, isFolder, exact: isExact ? exactKey({ text, isFolder }) : null };
}

/** Two paths are alike exactly when these are. */
export function exactKey({ text, isFolder }: Pick<SitePath, 'text' | 'isFolder'>): string {
  return isFolder ? `${text}/` : text;
}

/** Whether it fits, told without making anything. `/a/*` fits what is below `/a/`, and `/a/` itself; not `/a`. */
export function fitsPattern({ parts, texts, isOpen, isFolder }: PathPattern, path: SitePath): boolean {
  const { segments } = path;
  if (isOpen) {
    if (segments.length < parts.length || (segments.length === parts.length && !path.isFolder)) return false;
  } else if (segments.length !== parts.length || path.isFolder !== isFolder) return false;
  for (const { at, text } of texts) if (segments[at] !== text) return false;
  return true;
}

/** Null where it does not fit. */
export function matchPattern(pattern: PathPattern, path: SitePath): Found | null {
  if (!fitsPattern(pattern, path)) return null;
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
