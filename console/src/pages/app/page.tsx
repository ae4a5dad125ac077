import { Group, Tabs } from '@mantine/core';
import { getApp } from '@svc/contract/apps.ts';
import { type AppTab, appTabs } from '@svc/contract/console-paths.ts';
import { listInstances } from '@svc/contract/deployments.ts';
import { type ComponentType, lazy, Suspense, useEffect, useRef } from 'react';
import { useLocation, useParams } from 'wouter';
import { isCode } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { AppIcon, StateBadge } from '../../components/display.tsx';
import { PageHead } from '../../components/page-layout.tsx';
import { Loading, QueryView } from '../../components/query-view.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import { PageBoundary } from '../../layout/page-boundary.tsx';
import { appState, isVisitor } from './rules.ts';
import { AppProvider, AppUrl, useApp } from './use-app.tsx';
import { VisitorPage } from './visitor-page.tsx';

const tabs: Record<AppTab, { label: string; page: ComponentType }> = {
  overview: { label: 'Overview', page: lazy(() => import('./overview/tab.tsx')) },
  deployments: { label: 'Deployments', page: lazy(() => import('./deployments/tab.tsx')) },
  runs: { label: 'Runs', page: lazy(() => import('./runs/tab.tsx')) },
  logs: { label: 'Logs', page: lazy(() => import('./logs/tab.tsx')) },
  metrics: { label: 'Metrics', page: lazy(() => import('./metrics/tab.tsx')) },
  tables: { label: 'Tables', page: lazy(() => import('./tables/tab.tsx')) },
  releases: { label: 'Releases', page: lazy(() => import('./releases/tab.tsx')) },
  domains: { label: 'Domains', page: lazy(() => import('./domains/tab.tsx')) },
  storage: { label: 'Storage', page: lazy(() => import('./storage/tab.tsx')) },
  people: { label: 'People', page: lazy(() => import('./people/tab.tsx')) },
  environment: { label: 'Environment', page: lazy(() => import('./environment/tab.tsx')) },
  settings: { label: 'Settings', page: lazy(() => import('./settings/tab.tsx')) },
};

export default function AppPage() {
  const tenant = useTenant();
  const { app: ref = '', tab: tabName } = useParams<{ app: string; tab?: string }>();
  const answer = useEndpoint(getApp, { params: { tenantID: tenant.id, app: ref } });
  const tab = tabName === undefined ? 'overview' : appTabs.find((one) => one === tabName);
  if (isCode(answer.error, 'not_found') || tab === undefined) return <NotFound error={answer.error} />;
  return (
    <QueryView answer={answer} lines={8}>
      {(app) => (
        <AppProvider key={app.id} value={app}>
          {tab === 'overview' && isVisitor(app, tenant) ? <VisitorPage /> : <ControlPage tab={tab} />}
        </AppProvider>
      )}
    </QueryView>
  );
}

function ControlPage({ tab }: { tab: AppTab }) {
  const { app, paths } = useApp();
  const [, go] = useLocation();
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is selected then.
  useEffect(() => {
    const chosen = list.current?.querySelector('[aria-selected=true]');
    chosen?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [tab]);
  const { page: Page } = tabs[tab];
  return (
    <>
      <PageHead
        title={app.name}
        part={tabs[tab].label}
        mark={<AppIcon app={app} size={48} />}
        lead={
          <Group gap={6}>
            <AppState />
            <StateBadge state={app.visibility} />
            <AppUrl app={app} />
          </Group>
        }
      />
      <Tabs value={tab} onChange={(next) => go(paths.app(next as AppTab))} mb="lg">
        <Tabs.List ref={list} style={{ flexWrap: 'nowrap', overflowX: 'auto', overflowY: 'hidden' }}>
          {appTabs.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {tabs[one].label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab} pt="lg">
          <PageBoundary at={tab}>
            <Suspense fallback={<Loading lines={6} />}>
              <Page />
            </Suspense>
          </PageBoundary>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

function AppState() {
  const { app, params, why } = useApp();
  const { data } = useEndpoint(
    listInstances,
    { params, query: { per_page: 200 } },
    {
      enabled: why(listInstances) === null && app.record === 'active' && app.runtime === 'running',
      refetchMs: 15_000,
    },
  );
  const state = appState(app, data?.items ?? []);
  return <StateBadge state={state} label={state === 'none' ? 'not deployed' : state} />;
}
