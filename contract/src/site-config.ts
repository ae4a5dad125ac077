/**
 * How the files of a site are served: `site` in `svc.yaml`, the configuration of a release, and what `site set` takes.
 * Its shape is in `site-config.shapes.ts`.
 */
export const siteHeaderRulesMax = 100;
export const siteHeadersPerRuleMax = 30;
export const siteHeaderValueCharsMax = 2_000;
export const siteRedirectsMax = 1_000;
export const sitePatternCharsMax = 500;
/** Of one with `:name` or `*` in it: each request is compared with all of these. */
export const siteVariablePartsMax = 16;
export const siteConfigBytesMax = 256 * 1024;
export const redirectStatuses = [301, 302, 303, 307, 308] as const;
/** Where the server publishes the JSON Schema. */
export const siteConfigSchemaPath = '/schemas/site.json';

/** Once part of the configuration; still taken, ignored, and answered with a notice. */
export const retiredSiteKeys = [
  'visibility',
  'service_worker',
  'service_workers',
  'service_worker_allowed',
  'service_worker_disallowed',
] as const;

/**
 * Headers that a site can not set: those that say how an answer travels or what it is, which the server knows; those by
 * which a site could reach beyond itself; and those that a proxy on the way takes for orders.
 */
export const refusedSiteHeaders: readonly string[] = [
  'accept-ranges',
  'age',
  'allow',
  'alt-svc',
  'clear-site-data',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'edge-control',
  'etag',
  'host',
  'keep-alive',
  'last-modified',
  'location',
  'nel',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'public-key-pins',
  'refresh',
  'report-to',
  'server',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'status',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'www-authenticate',
  'x-content-type-options',
  'x-lighttpd-send-file',
  'x-request-id',
  'x-sendfile',
];
/** All that begin with one of these, too. */
export const refusedSiteHeaderPrefixes: readonly string[] = [
  'surrogate-',
  'x-accel-',
  'x-litespeed-',
  'x-reproxy-',
];
/** All that end with one of these, with a vendor's name before it or without. */
export const refusedSiteHeaderSuffixes: readonly string[] = ['cdn-cache-control'];

export function isRefusedSiteHeader(name: string): boolean {
  const small = name.toLowerCase();
  return (
    refusedSiteHeaders.includes(small) ||
    refusedSiteHeaderPrefixes.some((prefix) => small.startsWith(prefix)) ||
    refusedSiteHeaderSuffixes.some((suffix) => small.endsWith(suffix))
  );
}

export interface SiteHeaderRule {
  /** A path; `*` at its end stands for anything, `:name` for one segment. */
  path: string;
  headers: Readonly<Record<string, string>>;
}

export interface SiteRedirect {
  /** As in headers. */
  from: string;
  /** A path, or a whole address; `:name` and `:splat` stand for what was found in `from`. */
  to: string;
  status?: (typeof redirectStatuses)[number] | undefined;
}

export interface SiteConfig {
  index?: string | undefined;
  /** Paths without a file answer with the index of the root. */
  spa?: boolean | undefined;
  not_found?: string | undefined;
  clean_urls?: boolean | undefined;
  /** `true`: addresses of pages end with a slash; `false`: they do not; absent: as the files lie. */
  trailing_slash?: boolean | undefined;
  headers?: readonly SiteHeaderRule[] | undefined;
  redirects?: readonly SiteRedirect[] | undefined;
}

export const siteConfigDefaults = {
  index: 'index.html',
  spa: false,
  not_found: '404.html',
  clean_urls: true,
} as const;

/** What a release says itself wins, key by key. */
export function mergeSiteConfig(site: SiteConfig, own: SiteConfig): SiteConfig {
  return { ...site, ...own };
}
