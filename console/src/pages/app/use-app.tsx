import { Text } from '@mantine/core';
import type { getApp } from '@svc/contract/apps.ts';
import { type AppTab, consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer, Endpoint } from '@svc/contract/endpoint.ts';
import { listAppMembers } from '@svc/contract/owners.ts';
import { type ComponentType, createContext, useContext, useEffect } from 'react';
import { useTenant, whyNot } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { ExternalLink, Restricted, withoutScheme } from '../../components/page-layout.tsx';
import { whyNotVisit } from './rules.ts';

export type AppView = Answer<NonNullable<typeof getApp.shape>>;

const AppContext = createContext<AppView | null>(null);
export const AppProvider = AppContext.Provider;

export function useApp() {
  const app = useContext(AppContext);
  const tenant = useTenant();
  if (!app) throw new Error('useApp needs an app page.');
  return {
    app,
    tenant,
    params: { tenantID: tenant.id, app: app.id },
    paths: {
      app: (tab?: AppTab) => consolePaths.app(tenant.slug, app.slug, tab),
      deployment: (id: string) => consolePaths.deployment(tenant.slug, app.slug, id),
      run: (id: string) => consolePaths.run(tenant.slug, app.slug, id),
      release: (id: string) => consolePaths.release(tenant.slug, app.slug, id),
      table: (name: string) => consolePaths.table(tenant.slug, app.slug, name),
    },
    why: (endpoint: Pick<Endpoint, 'who'>) => whyNot(endpoint, { role: tenant.role, relation: app.relation }),
  };
}

export function restrictedTab(endpoint: Pick<Endpoint, 'who'>, what: string, Tab: ComponentType) {
  return function RestrictedTab() {
    const { why } = useApp();
    return (
      <Restricted why={why(endpoint)} what={what}>
        <Tab />
      </Restricted>
    );
  };
}

export function usePersonNames(): (id: string | null) => string | null {
  const { params, why } = useApp();
  const { data } = useEndpoint(
    listAppMembers,
    { params, query: { per_page: 200 } },
    { enabled: why(listAppMembers) === null },
  );
  const names = new Map(data?.items.map(({ user_id, name }) => [user_id, name]));
  return (id) => (id === null ? null : (names.get(id) ?? null));
}

export function useLeaveGuard({ isOn }: { isOn: boolean }): void {
  useEffect(() => {
    if (!isOn) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isOn]);
}

export function AppUrl({ app }: { app: AppView }) {
  if (app.url === null || app.deployment_status !== 'deployed') return null;
  const label = withoutScheme(app.url);
  if (whyNotVisit(app) !== null)
    return (
      <Text span size="sm" style={{ overflowWrap: 'anywhere' }}>
        {label}
      </Text>
    );
  return (
    <ExternalLink to={app.url} size="sm" style={{ overflowWrap: 'anywhere' }}>
      {label}
    </ExternalLink>
  );
}
