import { slugPattern } from '@svc/contract/limits.ts';
import { createHostReader, type SiteHost } from '../edge/edge-host.ts';
import { localPath } from '../identity/console-login.ts';
import type { SitePlaces } from '../static-sites/site-urls.ts';

/** Where sites are, as far as this platform says so. */
export interface VisitPlaces extends SitePlaces {
  /** Where custom domains answer by TLS; null: nowhere here, though a proxy may do it. */
  httpsPort: number | null;
}

/** An address of a site that could be one of ours; whether it is, and whose, is for the database. */
export interface SiteTarget {
  /** Scheme, host and port: the one place that a code for it is good at. */
  origin: string;
  host: string;
  place: SiteHost;
  /** Path, query and fragment: where to come out. */
  path: string;
}

/** Null for what is no address of a page, or could be read in two ways; `elsewhere` for what no site of ours has. */
export function parseSiteTarget(text: string, places: VisitPlaces): SiteTarget | 'elsewhere' | null {
  const [, scheme, authority] = addressPattern.exec(text) ?? [];
  const url = URL.parse(text);
  if (!scheme || !authority || !url || url.username !== '' || url.password !== '') return null;
  const [, host, port = ''] = authorityPattern.exec(authority) ?? [];
  // The plain spelling alone counts, so that no two programs can read it differently.
  if (!host || url.origin !== `${scheme}://${authority}`) return 'elsewhere';
  const { origin } = url;
  const asked = `${url.pathname}${url.search}${url.hash}`;
  const path = localPath(asked, origin);
  if (path !== asked) return null;
  const place = siteHostOf(host, places);
  if (!place) return 'elsewhere';
  const isServed =
    place.kind === 'domain'
      ? scheme === 'https' && securePorts(places).includes(port)
      : origin === siteOrigin(host, places);
  return isServed ? { origin, host, place, path } : 'elsewhere';
}

/** Of a host of the apps domain: with the scheme and the port of the platform. */
export function siteOrigin(host: string, { baseUrl }: SitePlaces): string {
  const { protocol, port } = new URL(baseUrl);
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}`;
}

/** What a host may be; null for the platform's own names, and for those below the apps domain that no app can have. */
export function siteHostOf(host: string, places: SitePlaces): SiteHost | null {
  const isDomain = () => host !== places.appsDomain && host.includes('.') && !addressLike.test(host);
  const read = createHostReader({ ...places, isDomain })(host);
  if (read.kind === 'platform') return null;
  return read.kind === 'domain' || isSubdomain(read.subdomain) ? read : null;
}

function isSubdomain(text: string): boolean {
  return slugPattern.test(text) && !text.includes('--');
}

export function isAppsHost(host: string, { appsDomain }: Pick<SitePlaces, 'appsDomain'>): boolean {
  return host.endsWith(`.${appsDomain}`);
}

/** Custom domains hold no secret in clear: nothing leads to them by plain HTTP. */
function securePorts({ baseUrl, httpsPort }: VisitPlaces): string[] {
  const base = new URL(baseUrl);
  return [
    '',
    ...(httpsPort === null ? [] : [`${httpsPort}`]),
    ...(base.protocol === 'https:' ? [base.port] : []),
  ];
}

const addressPattern = /^(https?):\/\/([^/?#\\\s\p{Cc}]+)(?:[/?#][^\\\s\p{Cc}]*)?$/u;
/** Small letters, as names are compared; no dot at the end, no brackets, no percent signs. */
const authorityPattern =
  /^((?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?::([1-9]\d{0,4}))?$/;
const addressLike = /(?:^|\.)\d+$/;
