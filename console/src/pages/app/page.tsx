import { Group, Tabs } from '@mantine/core';
import { getApp } from '@svc/contract/apps.ts';
import { type AppTab, appTabs, consolePaths } from '@svc/contract/console-paths.ts';
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

import { AppProvider, AppUrl } from './use-app.tsx';

const tabs: Record<AppTab, { label: string; page: ComponentType }> = {
  overview: { label: 'Overview', page: lazy(() => import('./overview/tab.tsx')) },
  deployments: { label: 'Deployments', page: lazy(() => import('./deployments/tab.tsx')) },
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
  const [, go] = useLocation();
  const answer = useEndpoint(getApp, { params: { tenantID: tenant.id, app: ref } });
  const list = useRef<HTMLDivElement>(null);
  const tab = tabName === undefined ? 'overview' : appTabs.find((one) => one === tabName);
  const isThere = answer.data !== undefined;
  useEffect(() => {
    if (!isThere || tab === undefined) return;
    const chosen = list.current?.querySelector('[aria-selected=true]');
    chosen?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [tab, isThere]);
  if (isCode(answer.error, 'not_found') || tab === undefined) return <NotFound error={answer.error} />;
  const { page: Page } = tabs[tab];
  return (
    <QueryView answer={answer} lines={8}>
      {(app) => (
        <AppProvider key={app.id} value={app}>
          <PageHead
            title={app.name}
            part={tabs[tab].label}
            mark={<AppIcon app={app} size={48} />}
            lead={
              <Group gap={6}>
                <StateBadge
                  state={app.record === 'active' ? app.runtime : app.record}
                  label={stateText(app)}
                />
                <StateBadge state={app.visibility} />
                <AppUrl app={app} />
              </Group>
            }
          />
          <Tabs
            value={tab}
            onChange={(next) => go(consolePaths.app(tenant.slug, app.slug, next as AppTab))}
            mb="lg"
          >
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
        </AppProvider>
      )}
    </QueryView>
  );
}

function stateText({ record, runtime }: { record: string; runtime: string }): string {
  if (record !== 'active') return record;
  return runtime === 'none' ? 'not deployed' : runtime;
}
