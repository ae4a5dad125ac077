import type { ConsoleWorld } from './world.ts';

export interface ConsolePage {
  /** Also the name of its screenshots. */
  name: string;
  path: string;
  as: 'admin' | 'owner' | 'member';
}

/** Pages whose names are their paths: `app-logs` is `logs` below the path of the app. */
const below = (prefix: string, names: string, path = prefix) =>
  Object.fromEntries(
    names
      .split(' ')
      .map((name) => [
        [prefix, name].filter(Boolean).join('-').replaceAll('/', '-'),
        [path, name].filter(Boolean).join('/'),
      ]),
  );

/** Every page of the console, with content: for screenshots and the accessibility rules. */
export function consolePages({
  tenant,
  booking,
  ran,
  handbook,
  governed: { group, category, connector, preset, policy, grant, request },
  published: { lunch, travel, openReview, approvedReview, rejectedReview },
}: ConsoleWorld): ConsolePage[] {
  const app = `apps/${booking.slug}`;
  const site = `apps/${handbook.slug}`;
  const subject = tenant.member.id;
  const pages: Record<ConsolePage['as'], Record<string, string>> = {
    owner: {
      ...below('', 'catalogue apps notifications grants grants/requests tokens sessions security'),
      ...below(
        'app',
        'overview deployments runs logs metrics tables domains storage people environment settings',
        app,
      ),
      ...below('draft', 'overview deployments runs metrics', `apps/${ran.draft}`),
      ...below('site', 'overview releases', site),
      'apps-deleted': 'apps?show=deleted',
      'new-app': 'apps/new',
      'app-deployment': `${app}/deployments/${ran.liveDeployment}`,
      'app-deployment-failed': `${app}/deployments/${ran.failedDeployment}`,
      'app-runs-of-schedule': `${app}/runs?schedule=clean-up`,
      'app-run': `${app}/runs/${ran.run}`,
      'app-logs-found': `${app}/logs?q=rooms&wrap=no`,
      'app-metrics-week': `${app}/metrics?range=7d`,
      'app-tables-new': `${app}/tables?create`,
      'app-table-data': `${app}/tables/bookings`,
      'app-table-filtered': `${app}/tables/bookings?filter=seats%3Dgt.6&filter=room%3Dihas.deck&sort=-starts_at&select=room,seats,starts_at`,
      'app-table-empty': `${app}/tables/wishes`,
      'app-table-schema': `${app}/tables/bookings?view=schema`,
      'app-table-access': `${app}/tables/bookings?view=access`,
      'app-table-view-as': `${app}/tables/bookings?view=as`,
      'app-storage-folder': `${app}/storage?prefix=floor-plans%2F`,
      'app-storage-text': `${app}/storage?object=house-rules.txt`,
      'app-storage-image': `${app}/storage?prefix=floor-plans%2F&object=floor-plans%2Ffirst.svg`,
      'app-service-account': `${app}/people?account=ci`,
      'app-service-account-new': `${app}/people?account=*`,
      'app-environment-previews': `${app}/environment?environment=preview`,
      'site-release': `${site}/releases/${handbook.stagedRelease}`,
      'site-release-file': `${site}/releases/${handbook.stagedRelease}?file=index.html`,
      'site-release-live': `${site}/releases/${handbook.activeRelease}`,
      'site-releases-none': `${app}/releases`,
      'site-domains-none': `${site}/domains`,
      'site-storage-none': `${site}/storage`,
      'connector-table': 'data/stock/stock/items',
      'connector-table-filtered': 'data/stock/stock/items?filter=pieces=gt.2&sort=-pieces',
      'connector-table-none': 'data/warehouse/sales/orders',
      'grants-request': 'grants/request?connector=warehouse&scope=sales/orders',
      'catalogue-narrowed': 'catalogue?q=lunch&category=workplace&sort=name',
      'catalogue-nothing-fits': 'catalogue?q=submarine',
      'new-app-template': 'apps/new?way=template',
      'new-app-empty': 'apps/new?way=empty',
      'new-app-fork': `apps/new?way=fork&source=${lunch}`,
      'publication-open': `apps/${travel}/overview`,
      'publication-form': 'apps/handbook/overview?publish=yes',
      'people-of-travel': `apps/${travel}/people`,
      'settings-of-lunch': `apps/${lunch}/settings`,
      'review-seen-by-who-asked': `reviews/${openReview}`,
      'review-rejected': `reviews/${rejectedReview}`,
      'notifications-unread': 'notifications?show=unread',
      'tokens-new': 'tokens?new=1',
      'request-access': 'request-access/lunch',
    },
    admin: {
      ...below('', 'reviews access-log'),
      ...below('admin', 'members groups categories connectors presets grants policies settings audit'),
      ...below(
        'admin',
        'members/new groups/new categories/new connectors/new presets/new grants/new policies/new',
      ),
      'app-logs-seen-by-an-admin': `${app}/logs`,
      'app-tables-seen-by-an-admin': `${app}/tables`,
      'app-storage-seen-by-an-admin': `${app}/storage`,
      'site-release-seen-by-an-admin': `${site}/releases/${handbook.stagedRelease}`,
      'admin-group': `admin/groups/${group}`,
      'admin-category': `admin/categories/${category}`,
      'admin-connector': `admin/connectors/${connector}`,
      'admin-preset': `admin/presets/${preset}`,
      'admin-grant': `admin/grants/${grant}`,
      'admin-member': `admin/members/${subject}`,
      'grant-requests-to-decide': 'grants/requests?view=to_decide',
      'grant-request': `grants/requests/${request}`,
      'admin-policy': `admin/policies/${policy}`,
      'admin-access-check': `admin/policies?subject=${subject}&connector=${connector}&action=read&path=sales/customers`,
      'admin-audit-entry': 'admin/audit?action=policies.create',
      'tokens-of-everyone': 'tokens?whose=everyone',
      'settings-seen-by-an-admin': `apps/${lunch}/settings`,
      'reviews-settled': 'reviews?status=settled',
      'review-open': `reviews/${openReview}`,
      'review-approved': `reviews/${approvedReview}`,
      'notifications-of-an-admin': 'notifications',
    },
    member: {
      'people-seen-by-a-member': `apps/${lunch}/people`,
      'settings-seen-by-a-member': `apps/${lunch}/settings`,
      'reviews-seen-by-a-member': 'reviews',
      'admin-seen-by-a-member': 'admin/grants',
      'grants-none': 'grants',
      'tokens-none': 'tokens',
      'app-seen-by-a-member': `apps/${lunch}/overview`,
      'not-found': 'nothing',
    },
  };
  return Object.entries(pages).flatMap(([as, named]) =>
    Object.entries(named).map(([name, path]) => ({
      name,
      path: `/t/${tenant.slug}/${path}`,
      as: as as ConsolePage['as'],
    })),
  );
}
