import { isRefusedSiteHeader, type SiteConfig, siteConfigDefaults } from '@svc/contract/site-config.ts';
import { compilePattern, exactKey, fitsPattern, matchPattern, type PathPattern } from './path-pattern.ts';
import { compileTarget, fillTarget, type RedirectTarget } from './redirect-target.ts';
import { readPath, type SitePath } from './site-path.ts';

/** A site's configuration, ready to be asked. */
export interface CompiledConfig {
  index: string;
  spa: boolean;
  notFound: string;
  cleanUrls: boolean;
  trailingSlash: boolean | undefined;
  /** Where the first rule that fits leads to; null where none does. */
  redirectAt(path: SitePath): Redirect | null;
  headersAt(path: SitePath): RuleHeaders;
}

export interface Redirect {
  location: string;
  status: number;
}

/** One object for all paths that the same rules fit. Names in small letters. */
export type RuleHeaders = Readonly<Record<string, string>>;

const redirectStatusDefault = 301;
/** Paths choose which rules fit, and there are more ways to choose than anybody means: beyond, none are kept. */
const keptRuleSetsMax = 1_000;

export function compileConfig(config: SiteConfig): CompiledConfig {
  return {
    index: config.index ?? siteConfigDefaults.index,
    spa: config.spa ?? siteConfigDefaults.spa,
    notFound: config.not_found ?? siteConfigDefaults.not_found,
    cleanUrls: config.clean_urls ?? siteConfigDefaults.clean_urls,
    trailingSlash: config.trailing_slash,
    redirectAt: compileRedirects(config.redirects ?? []),
    headersAt: compileHeaders(config.headers ?? []),
  };
}

interface RedirectRule {
  /** Its place in the order given. */
  at: number;
  pattern: PathPattern;
  target: RedirectTarget;
  status: number;
}

function compileRedirects(redirects: NonNullable<SiteConfig['redirects']>): CompiledConfig['redirectAt'] {
  const exact = new Map<string, RedirectRule>();
  const variable: RedirectRule[] = [];
  for (const [at, { from, to, status = redirectStatusDefault }] of redirects.entries()) {
    const pattern = compilePattern(from);
    const rule = { at, pattern, target: compileTarget(to), status };
    if (pattern.exact === null) variable.push(rule);
    else if (!exact.has(pattern.exact)) exact.set(pattern.exact, rule);
  }
  if (redirects.length === 0) return () => null;

  return (path) => {
    const plain = exact.get(exactKey(path));
    for (const rule of variable) {
      if (plain && rule.at > plain.at) break;
      const redirect = redirectBy(rule, path);
      if (redirect) return redirect;
    }
    return plain ? redirectBy(plain, path) : null;
  };
}

/** A rule that leads to where one is does not count: `/*` to one page is meant for all other paths. */
function redirectBy({ pattern, target, status }: RedirectRule, path: SitePath): Redirect | null {
  const found = matchPattern(pattern, path);
  if (!found) return null;
  const location = fillTarget(target, found);
  const leadsTo = target.origin === '' ? readPath(location.replace(/[?#].*$/, '')) : null;
  return leadsTo && exactKey(leadsTo) === exactKey(path) ? null : { location, status };
}

const noHeaders: RuleHeaders = Object.freeze({});

function compileHeaders(rules: NonNullable<SiteConfig['headers']>): CompiledConfig['headersAt'] {
  if (rules.length === 0) return () => noHeaders;
  const compiled = rules.map(({ path, headers }, at) => ({
    at,
    pattern: compilePattern(path),
    // Once more: what was stored before a name was refused is not sent either.
    headers: Object.entries(headers)
      .filter(([name]) => !isRefusedSiteHeader(name))
      .map(([name, value]) => [name.toLowerCase(), value] as const),
  }));
  const kept = new Map<string, RuleHeaders>();

  return (path) => {
    const fitting = compiled.filter(({ pattern }) => fitsPattern(pattern, path));
    if (fitting.length === 0) return noHeaders;
    const key = fitting.map(({ at }) => at).join();
    const known = kept.get(key);
    if (known) return known;
    const made: RuleHeaders = Object.freeze(Object.fromEntries(fitting.flatMap(({ headers }) => headers)));
    if (kept.size < keptRuleSetsMax) kept.set(key, made);
    return made;
  };
}
