import type { z } from 'zod';
import type { SiteConfig as SiteConfigShape } from './site-config.shapes.ts';
import { words } from './words.ts';
export const siteHeaderRulesMax = 100;
export const siteHeadersPerRuleMax = 30;
export const siteHeaderValueCharsMax = 2_000;
export const siteRedirectsMax = 1_000;
export const sitePatternCharsMax = 500;
/** For patterns with `:name` or `*`: each request is compared with all of them. */
export const siteVariablePartsMax = 16;
export const siteConfigBytesMax = 256 * 1024;
/** Shows another file instead of redirecting to it. */
export const rewriteStatus = 200;
export const redirectStatuses = [301, 302, 303, 307, 308] as const;
export const siteConfigSchemaPath = '/schemas/site.json';

/** Formerly part of the configuration: accepted, ignored, and answered with a notice. */
export const retiredSiteKeys = [
  'visibility',
  'service_worker',
  'service_workers',
  'service_worker_allowed',
  'service_worker_disallowed',
] as const;

/**
 * Headers of framing and content, which the server sets; headers with effects beyond the site; and proxy
 * directives.
 */
export const refusedSiteHeaders: readonly string[] = words(`
  accept-ranges age allow alt-svc clear-site-data connection content-encoding content-length
  content-range content-type date edge-control etag host keep-alive last-modified location nel
  proxy-authenticate proxy-authorization proxy-connection public-key-pins refresh report-to server
  service-worker-allowed set-cookie set-cookie2 status te trailer transfer-encoding upgrade vary via
  www-authenticate x-content-type-options x-lighttpd-send-file x-request-id x-sendfile
`);
export const refusedSiteHeaderPrefixes: readonly string[] = [
  'surrogate-',
  'x-accel-',
  'x-litespeed-',
  'x-reproxy-',
];
export const refusedSiteHeaderSuffixes: readonly string[] = ['cdn-cache-control'];

export function isRefusedSiteHeader(name: string): boolean {
  const small = name.toLowerCase();
  return (
    refusedSiteHeaders.includes(small) ||
    refusedSiteHeaderPrefixes.some((prefix) => small.startsWith(prefix)) ||
    refusedSiteHeaderSuffixes.some((suffix) => small.endsWith(suffix))
  );
}

export type SiteConfig = z.output<typeof SiteConfigShape>;

export const siteConfigDefaults = {
  index: 'index.html',
  spa: false,
  not_found: '404.html',
  clean_urls: true,
} as const;

export function mergeSiteConfig(site: SiteConfig, own: SiteConfig): SiteConfig {
  return { ...site, ...own };
}
