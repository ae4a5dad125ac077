import type { Found } from './path-pattern.ts';

/** Where a redirect leads: what its rule says, with places for what was found in the address. */
export interface RedirectTarget {
  /** Up to and with the host, empty within the site: nothing that a visitor sends gets in there. */
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

/** Values are encoded anew: they stay within the part of the address where their name stands. */
export function fillTarget({ origin, pieces }: RedirectTarget, found: Found): string {
  let text = '';
  for (const piece of pieces) {
    if ('text' in piece) text += piece.text;
    else text += (found.get(piece.name) ?? []).map(encodeURIComponent).join('/');
  }
  // An empty value between two slashes at the front would make a host of what follows.
  return origin === '' ? text.replace(/^\/+/, '/') : origin + text;
}

/** What was asked for goes along, unless the target has a query of its own. */
export function withSearch(target: string, search: string): string {
  if (search === '' || /^[^#]*\?/.test(target)) return target;
  const at = target.indexOf('#');
  const query = `?${search.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent)}`;
  return at < 0 ? target + query : target.slice(0, at) + query + target.slice(at);
}
