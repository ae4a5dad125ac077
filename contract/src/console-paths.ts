/** E-mails and notifications link to these paths, so they must not change. */
export const consolePaths = {
  home: '/',
  tokens: (tenant: string) => of(tenant, 'tokens'),
  sessions: (tenant: string) => of(tenant, 'sessions'),
  security: (tenant: string) => of(tenant, 'security'),
  catalogue: (tenant: string) => of(tenant, 'catalogue'),
  apps: (tenant: string) => of(tenant, 'apps'),
  newApp: (tenant: string) => of(tenant, 'apps', 'new'),
  app: (tenant: string, app: string, tab: AppTab = 'overview') => of(tenant, 'apps', app, tab),
  deployment: (tenant: string, app: string, id: string) => of(tenant, 'apps', app, 'deployments', id),
  run: (tenant: string, app: string, id: string) => of(tenant, 'apps', app, 'runs', id),
  table: (tenant: string, app: string, table: string) => of(tenant, 'apps', app, 'tables', table),
  release: (tenant: string, app: string, id: string) => of(tenant, 'apps', app, 'releases', id),
  reviews: (tenant: string) => of(tenant, 'reviews'),
  review: (tenant: string, id: string) => of(tenant, 'reviews', id),
  requestAppAccess: (tenant: string, app: string) => of(tenant, 'request-access', app),
  grants: (tenant: string) => of(tenant, 'grants'),
  grantRequests: (tenant: string) => of(tenant, 'grants', 'requests'),
  grantRequest: (tenant: string, id: string) => of(tenant, 'grants', 'requests', id),
  /** The form with these fields filled in; `scope` is a list with commas. */
  requestAccess: (
    tenant: string,
    fields: { connector?: string; preset?: string; scope?: string; reason?: string } = {},
  ) => {
    const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value)).toString();
    return of(tenant, 'grants', 'request') + (query === '' ? '' : `?${query}`);
  },
  /** Rows of a table behind a connector; `path` is `schema/table`. */
  connectorTable: (tenant: string, connector: string, path: string) => {
    const [schema = '', ...table] = path.split('/');
    return of(tenant, 'data', connector, schema, table.join('/'));
  },
  accessLog: (tenant: string) => of(tenant, 'access-log'),
  notifications: (tenant: string) => of(tenant, 'notifications'),
  admin: (tenant: string, tab: AdminTab = 'members') => of(tenant, 'admin', tab),
};

export const consolePrefix = '/t/';
export const explorerPrefix = '/explorer/';
/** Shows the OpenAPI document of an app, with requests to try. */
export const explorerPath = (tenant: string, app: string) =>
  explorerPrefix + [tenant, app].map(encodeURIComponent).join('/');

export const appTabs = [
  'overview',
  'deployments',
  'runs',
  'logs',
  'metrics',
  'tables',
  'releases',
  'domains',
  'storage',
  'people',
  'environment',
  'settings',
] as const;
export type AppTab = (typeof appTabs)[number];

export const adminTabs = [
  'members',
  'groups',
  'categories',
  'connectors',
  'presets',
  'grants',
  'policies',
  'settings',
  'audit',
] as const;
export type AdminTab = (typeof adminTabs)[number];

function of(tenant: string, ...rest: string[]): string {
  return consolePrefix + [tenant, ...rest].map(encodeURIComponent).join('/');
}
