import type { getApp } from '@svc/contract/apps.ts';
import type { Answer, Endpoint } from '@svc/contract/endpoint.ts';
import { createContext, useContext } from 'react';
import { whyNot } from '../../api/may.ts';
import { type OwnTenant, useTenant } from '../../api/me.ts';

export type AppView = Answer<NonNullable<typeof getApp.shape>>;

const AppContext = createContext<AppView | null>(null);
export const AppProvider = AppContext.Provider;

export interface ShownApp {
  app: AppView;
  tenant: OwnTenant;
  /** Of every path below the app. */
  params: { tenantID: string; app: string };
  /** Why one may not do it with this app; null when one may. */
  why(endpoint: Pick<Endpoint, 'who'>): string | null;
}

/** The app that the page is about. */
export function useApp(): ShownApp {
  const app = useContext(AppContext);
  const tenant = useTenant();
  if (!app) throw new Error('Only pages of an app ask for it.');
  return {
    app,
    tenant,
    params: { tenantID: tenant.id, app: app.id },
    why: (endpoint) => whyNot(endpoint, { role: tenant.role, relation: app.relation }),
  };
}
