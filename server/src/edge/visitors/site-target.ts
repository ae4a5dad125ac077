import { slugPattern } from '@svc/contract/limits.ts';
import { sitePlatformPrefix } from '@svc/contract/static-sites.ts';
import { findRequestableApp } from '../../apps/access-requests/access-requests.ts';
import {
  findAppById,
  findAppBySubdomain,
  findAppForSignIn,
  isReviewerOf,
} from '../../apps/record/find-app.ts';
import { previewSeparator } from '../../apps/record/preview-apps.ts';
import { type Ctx, ownsApp } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { nilUuid } from '../../core/values.ts';
import type { SiteUrls } from '../../delivery/static-sites/rules.ts';
import type { EdgeRequest } from '../../http/edge-request.ts';
import { localPath } from '../../identity/provider/console-login.ts';
import { findUser } from '../../people/users/users.ts';
import { createHostReader, type SiteHost } from '../domains/host-names.ts';

export interface SiteOriginConfig extends SiteUrls {
  httpsPort: number | null;
}

export interface SiteTarget {
  origin: string;
  host: string;
  siteHost: SiteHost;
  path: string;
}

/** Null if the URL is invalid or ambiguous; `elsewhere` if it cannot be a site of this platform. */
export function parseSiteTarget(text: string, config: SiteOriginConfig): SiteTarget | 'elsewhere' | null {
  const [, scheme, authority] = urlPattern.exec(text) ?? [];
  const url = URL.parse(text);
  if (!scheme || !authority || !url || url.username !== '' || url.password !== '') return null;
  const [, host, port = ''] = authorityPattern.exec(authority) ?? [];
  // Only the normalized spelling is accepted, so that no two programs can read it differently.
  if (!host || url.origin !== `${scheme}://${authority}`) return 'elsewhere';
  const { origin } = url;
  const requested = `${url.pathname}${url.search}${url.hash}`;
  const path = localPath(requested, origin);
  if (path !== requested) return null;
  const siteHost = parseSiteHost(host, config);
  if (!siteHost) return 'elsewhere';
  const isServed =
    siteHost.kind === 'domain'
      ? scheme === 'https' && securePorts(config).includes(port)
      : origin === siteOrigin(host, config);
  return isServed ? { origin, host, siteHost, path } : 'elsewhere';
}

/** Hosts of the apps domain use the scheme and port of the platform. */
function siteOrigin(host: string, { baseUrl }: SiteUrls): string {
  const { protocol, port } = new URL(baseUrl);
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}`;
}

/** Null for hosts of the platform and for names that no app can have. */
export function parseSiteHost(host: string, config: SiteUrls): SiteHost | null {
  const isDomain = () => host !== config.appsDomain && host.includes('.') && !ipLike.test(host);
  const read = createHostReader({ ...config, isDomain })(host);
  if (read.kind === 'platform') return null;
  if (read.kind === 'domain' || isSubdomain(read.subdomain)) return read;
  return read.kind === 'app' && isPreviewLabel(read.subdomain) ? read : null;
}

function isSubdomain(text: string): boolean {
  return slugPattern.test(text) && !text.includes('--');
}

function isPreviewLabel(text: string): boolean {
  const [branch = '', subdomain = '', ...more] = text.split(previewSeparator);
  return slugPattern.test(text) && branch !== '' && isSubdomain(subdomain) && more.length === 0;
}

function isAppsHost(host: string, { appsDomain }: Pick<SiteUrls, 'appsDomain'>): boolean {
  return host.endsWith(`.${appsDomain}`);
}

/** Codes are never sent to a custom domain over plain HTTP. */
function securePorts({ baseUrl, httpsPort }: SiteOriginConfig): string[] {
  const base = new URL(baseUrl);
  return [
    '',
    ...(httpsPort === null ? [] : [`${httpsPort}`]),
    ...(base.protocol === 'https:' ? [base.port] : []),
  ];
}

const urlPattern = /^(https?):\/\/([^/?#\\\s\p{Cc}]+)(?:[/?#][^\\\s\p{Cc}]*)?$/u;
/** Lower case; no trailing dot, brackets or percent signs. */
const authorityPattern =
  /^((?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?::([1-9]\d{0,4}))?$/;
const ipLike = /(?:^|\.)\d+$/;

export type FindAppAtDomain = (db: Db, host: string) => Promise<string | null>;

function findAppAt(
  { db, findAppAtDomain }: { db: Db; findAppAtDomain: FindAppAtDomain },
  { siteHost, host }: SiteTarget,
): Promise<string | null> {
  return siteHost.kind === 'domain' ? findAppAtDomain(db, host) : findAppBySubdomain({ db }, siteHost);
}

/** For somebody who may not visit the site; never at a staging host, which is for owners and reviewers. */
export async function findRequestableSite(
  deps: { db: Db; findAppAtDomain: FindAppAtDomain },
  { target, userId }: { target: SiteTarget; userId: string },
) {
  const appId = target.siteHost.kind === 'staging' ? null : await findAppAt(deps, target);
  return findRequestableApp(deps, { appId, userId });
}

/** Null both for a missing site and for one that the person may not see. */
export async function findSiteFor(
  { db, findAppAtDomain }: { db: Db; findAppAtDomain: FindAppAtDomain },
  { target, userId }: { target: SiteTarget; userId: string },
): Promise<string | null> {
  const { siteHost } = target;
  const appId = await findAppAt({ db, findAppAtDomain }, target);
  // Also checked without an app, so that the time does not reveal whether there is one.
  const isFor = await canVisit({ db }, { appId: appId ?? nilUuid, userId, hostKind: siteHost.kind });
  return isFor ? appId : null;
}

export interface Visit {
  appId: string;
  userId: string;
  hostKind: 'app' | 'staging' | 'domain';
}

/** An app that does not exist takes the same lookups, so that the time does not reveal it. */
export async function canVisit(ctx: Pick<Ctx, 'db'>, visit: Visit): Promise<boolean> {
  const seen = await findAppForSignIn(ctx, visit);
  if (visit.hostKind === 'staging')
    return (seen !== null && ownsApp(seen.relation)) || isReviewerOf(ctx, visit);
  if (seen !== null) return true;
  return isOpenToAll(ctx, visit);
}

/** People outside the tenant see an app only while it runs and is open to the internet. */
async function isOpenToAll(ctx: Pick<Ctx, 'db'>, { appId, userId }: Visit): Promise<boolean> {
  const app = await findAppById(ctx, { id: appId });
  if (app?.visibility !== 'internet' || app.record !== 'active' || app.runtime !== 'running') return false;
  return (await findUser(ctx, { ref: userId }))?.status === 'active';
}

/** Hosts of the apps domain have the scheme and port of the platform, even behind a proxy that changes them. */
export function originAt({ host, scheme, authority }: EdgeRequest, config: SiteOriginConfig): string {
  if (isAppsHost(host, config)) return siteOrigin(host, config);
  return URL.parse(`${scheme}://${authority}`)?.origin ?? '';
}

export const sitePaths = {
  auth: `${sitePlatformPrefix}auth`,
  logout: `${sitePlatformPrefix}logout`,
} as const;

export interface PlatformPathDeps extends SiteOriginConfig {
  db: Db;
  now: () => Date;
  /** Receives the tag of an ended visit, so that this copy of the server need not wait for the notification. */
  onCommitted?: (tag: string) => void;
}
