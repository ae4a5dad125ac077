import type { Found } from './path-pattern.ts';
/** Appends the query of the request unless the target has its own. */
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
