import { consolePaths } from '@svc/contract/console-paths.ts';
import { lazy, Suspense } from 'react';
import { Redirect, Route, Switch, useLocation, useParams } from 'wouter';
import { TenantProvider, useMe } from './api/me.ts';
import { Loading } from './components/query-view.tsx';
import { NoTenant, NotFound } from './layout/not-found.tsx';
import { PageBoundary } from './layout/page-boundary.tsx';
import { Shell } from './layout/shell.tsx';

const pages = {
  catalogue: lazy(() => import('./pages/catalogue/page.tsx')),
  apps: lazy(() => import('./pages/apps/page.tsx')),
  newApp: lazy(() => import('./pages/new-app/page.tsx')),
  app: lazy(() => import('./pages/app/page.tsx')),
  reviews: lazy(() => import('./pages/reviews/page.tsx')),
  review: lazy(() => import('./pages/review/page.tsx')),
  requestAppAccess: lazy(() => import('./pages/request-access/page.tsx')),
  grants: lazy(() => import('./pages/my-grants/page.tsx')),
  connectorTable: lazy(() => import('./pages/my-grants/table.tsx')),
  requestAccess: lazy(() => import('./pages/my-grants/request-form.tsx')),
  grantRequests: lazy(() => import('./pages/my-grants/requests.tsx')),
  grantRequest: lazy(() => import('./pages/my-grants/request.tsx')),
  accessLog: lazy(() => import('./pages/access-log/page.tsx')),
  notifications: lazy(() => import('./pages/notifications/page.tsx')),
  tokens: lazy(() => import('./pages/tokens/page.tsx')),
  sessions: lazy(() => import('./pages/sessions/page.tsx')),
  security: lazy(() => import('./pages/security/page.tsx')),
  admin: lazy(() => import('./pages/admin/page.tsx')),
};

export function Routes() {
  return (
    <Switch>
      <Route path="/" component={Home} />
      <Route path="/t/:tenant/*?" component={TenantPages} />
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}

function Home() {
  const { tenants } = useMe();
  const [first] = tenants;
  return first ? <Redirect to={consolePaths.catalogue(first.slug)} replace /> : <NoTenant />;
}

function TenantPages() {
  const { tenants } = useMe();
  const { tenant: tenantRef } = useParams<{ tenant: string }>();
  const [path] = useLocation();
  const tenant = tenants.find(({ id, slug }) => slug === tenantRef || id === tenantRef);
  if (!tenant) return <NotFound />;
  return (
    <TenantProvider value={tenant}>
      <Shell key={tenant.id}>
        <PageBoundary at={path}>
          <Suspense fallback={<Loading lines={6} />}>
            <Switch>
              <Route path="/t/:tenant">
                <Redirect to={consolePaths.catalogue(tenant.slug)} replace />
              </Route>
              <Route path="/t/:tenant/catalogue" component={pages.catalogue} />
              <Route path="/t/:tenant/apps" component={pages.apps} />
              <Route path="/t/:tenant/apps/new" component={pages.newApp} />
              <Route path="/t/:tenant/apps/:app/:tab?/:part?" component={pages.app} />
              <Route path="/t/:tenant/reviews" component={pages.reviews} />
              <Route path="/t/:tenant/reviews/:request" component={pages.review} />
              <Route path="/t/:tenant/request-access/:app" component={pages.requestAppAccess} />
              <Route path="/t/:tenant/grants" component={pages.grants} />
              <Route path="/t/:tenant/grants/request" component={pages.requestAccess} />
              <Route path="/t/:tenant/grants/requests" component={pages.grantRequests} />
              <Route path="/t/:tenant/grants/requests/:request" component={pages.grantRequest} />
              <Route path="/t/:tenant/data/:connector/:schema/:table" component={pages.connectorTable} />
              <Route path="/t/:tenant/access-log" component={pages.accessLog} />
              <Route path="/t/:tenant/notifications" component={pages.notifications} />
              <Route path="/t/:tenant/tokens" component={pages.tokens} />
              <Route path="/t/:tenant/sessions" component={pages.sessions} />
              <Route path="/t/:tenant/security" component={pages.security} />
              <Route path="/t/:tenant/admin/:tab?/:part?" component={pages.admin} />
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </Suspense>
        </PageBoundary>
      </Shell>
    </TenantProvider>
  );
}
