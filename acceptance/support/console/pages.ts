import { adminPages } from './admin-pages.ts';
import { peoplePages } from './people-pages.ts';
import type { ConsoleWorld } from './world.ts';

export interface ConsolePage {
  /** Names its pictures. */
  name: string;
  path: string;
  as: 'admin' | 'owner' | 'member';
}

/** Every page of the console, with something on it: what is pictured, and held against the rules of accessibility. */
export function consolePages({
  tenant,
  booking,
  ran,
  handbook,
  governed,
  published,
}: ConsoleWorld): ConsolePage[] {
  const t = `/t/${tenant.slug}`;
  const app = `${t}/apps/${booking.slug}`;
  const site = `${t}/apps/${handbook.slug}`;
  const owners = (name: string, path: string): ConsolePage => ({ name, path, as: 'owner' });
  const admins = (name: string, path: string): ConsolePage => ({ name, path, as: 'admin' });
  return [
    owners('catalogue', `${t}/catalogue`),
    owners('apps', `${t}/apps`),
    owners('apps-deleted', `${t}/apps?show=deleted`),
    owners('new-app', `${t}/apps/new`),
    owners('app-overview', `${app}/overview`),
    owners('app-deployments', `${app}/deployments`),
    owners('app-deployment', `${app}/deployments/${ran.liveDeployment}`),
    owners('app-deployment-failed', `${app}/deployments/${ran.failedDeployment}`),
    owners('draft-overview', `${t}/apps/${ran.draft}/overview`),
    owners('draft-deployments', `${t}/apps/${ran.draft}/deployments`),
    owners('draft-metrics', `${t}/apps/${ran.draft}/metrics`),
    owners('app-logs', `${app}/logs`),
    owners('app-logs-found', `${app}/logs?q=rooms&wrap=no`),
    admins('app-logs-seen-by-an-admin', `${app}/logs`),
    owners('app-metrics', `${app}/metrics`),
    owners('app-metrics-week', `${app}/metrics?range=7d`),
    owners('app-tables', `${app}/tables`),
    owners('app-tables-new', `${app}/tables?create`),
    owners('app-table-data', `${app}/tables/bookings`),
    owners(
      'app-table-filtered',
      `${app}/tables/bookings?filter=seats%3Dgt.6&filter=room%3Dihas.deck&sort=-starts_at&select=room,seats,starts_at`,
    ),
    owners('app-table-empty', `${app}/tables/wishes`),
    owners('app-table-schema', `${app}/tables/bookings?view=schema`),
    owners('app-table-access', `${app}/tables/bookings?view=access`),
    admins('app-tables-seen-by-an-admin', `${app}/tables`),
    owners('app-domains', `${app}/domains`),
    owners('app-storage', `${app}/storage`),
    owners('app-storage-folder', `${app}/storage?prefix=floor-plans%2F`),
    owners('app-storage-text', `${app}/storage?object=house-rules.txt`),
    owners('app-storage-image', `${app}/storage?prefix=floor-plans%2F&object=floor-plans%2Ffirst.svg`),
    admins('app-storage-seen-by-an-admin', `${app}/storage`),
    owners('app-people', `${app}/people`),
    owners('app-environment', `${app}/environment`),
    owners('app-settings', `${app}/settings`),
    owners('site-overview', `${site}/overview`),
    owners('site-releases', `${site}/releases`),
    owners('site-release', `${site}/releases/${handbook.stagedRelease}`),
    owners('site-release-file', `${site}/releases/${handbook.stagedRelease}?file=index.html`),
    owners('site-release-live', `${site}/releases/${handbook.activeRelease}`),
    owners('site-releases-none', `${app}/releases`),
    owners('site-domains-none', `${site}/domains`),
    owners('site-storage-none', `${site}/storage`),
    admins('site-release-seen-by-an-admin', `${site}/releases/${handbook.stagedRelease}`),
    owners('notifications', `${t}/notifications`),
    owners('grants', `${t}/grants`),
    owners('tokens', `${t}/tokens`),
    owners('sessions', `${t}/sessions`),
    { name: 'app-seen-by-a-member', path: `${t}/apps/${published.lunch}/overview`, as: 'member' },
    { name: 'not-found', path: `${t}/nothing`, as: 'member' },
    admins('reviews', `${t}/reviews`),
    ...['members', 'categories', 'connectors', 'presets', 'grants', 'policies', 'settings', 'audit'].map(
      (tab) => admins(`admin-${tab}`, `${t}/admin/${tab}`),
    ),
    ...adminPages(t, { ...governed, subject: tenant.member.id }),
    ...peoplePages(t, published),
  ];
}
