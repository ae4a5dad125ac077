import { isRefusedSiteHeader, type SiteConfig, siteConfigDefaults } from '@svc/contract/site-config.ts';
import type { EdgeResponse } from '../../http/edge-request.ts';
import {
  compilePattern,
  compileTarget,
  exactKey,
  fillTarget,
  isMatch,
  matchPattern,
  type PathPattern,
  type RedirectTarget,
  readPath,
  type SitePath,
} from './path-pattern.ts';

export interface CompiledConfig {
  index: string;
  spa: boolean;
  notFound: string;
  cleanUrls: boolean;
  trailingSlash: boolean | undefined;
  redirectAt(path: SitePath): Redirect | null;
  redirectMissing(path: SitePath): Redirect | null;
  headersAt(path: SitePath): RuleHeaders;
}

export interface Redirect {
  location: string;
  status: number;
}

/** Paths that match the same rules share one object. Names are in lower case. */
export type RuleHeaders = Readonly<Record<string, string>>;

const redirectStatusDefault = 301;
/** Limits the cache: a client can request any combination of rules. */
const cachedRuleSetsMax = 1_000;

export function compileConfig(config: SiteConfig): CompiledConfig {
  const { redirects = [] } = config;
  return {
    index: config.index ?? siteConfigDefaults.index,
    spa: config.spa ?? siteConfigDefaults.spa,
    notFound: config.not_found ?? siteConfigDefaults.not_found,
    cleanUrls: config.clean_urls ?? siteConfigDefaults.clean_urls,
    trailingSlash: config.trailing_slash,
    redirectAt: compileRedirects(redirects.filter(({ force }) => force !== false)),
    redirectMissing: compileRedirects(redirects.filter(({ force }) => force === false)),
    headersAt: compileHeaders(config.headers ?? []),
  };
}

interface RedirectRule {
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

/** A redirect to the requested path itself is skipped: `/*` to one page means all other paths. */
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
    // Configurations stored before a name was refused may still contain it.
    headers: Object.entries(headers)
      .filter(([name]) => !isRefusedSiteHeader(name))
      .map(([name, value]) => [name.toLowerCase(), value] as const),
  }));
  const cached = new Map<string, RuleHeaders>();

  return (path) => {
    const matching = compiled.filter(({ pattern }) => isMatch(pattern, path));
    if (matching.length === 0) return noHeaders;
    const key = matching.map(({ at }) => at).join();
    const known = cached.get(key);
    if (known) return known;
    const made: RuleHeaders = Object.freeze(Object.fromEntries(matching.flatMap(({ headers }) => headers)));
    if (cached.size < cachedRuleSetsMax) cached.set(key, made);
    return made;
  };
}

const robotsHeader = 'x-robots-tag';
const robotsValue = 'noindex, nofollow';
const disallowAll = new TextEncoder().encode('User-agent: *\nDisallow: /\n');
const headers = Object.freeze({
  'content-type': 'text/plain; charset=utf-8',
  'content-length': String(disallowAll.length),
  'cache-control': 'public, max-age=300',
  'x-content-type-options': 'nosniff',
  [robotsHeader]: robotsValue,
});

/** Public at every staging host, because crawlers do not sign in. */
export function robotsResponse(method: string): EdgeResponse {
  return { status: 200, headers, body: method === 'HEAD' ? null : disallowAll };
}

/** For staging hosts. Prepared files have the header already. */
export function noIndex(answer: EdgeResponse): EdgeResponse {
  if (answer.headers[robotsHeader] === robotsValue) return answer;
  return { ...answer, headers: { ...answer.headers, [robotsHeader]: robotsValue } };
}
