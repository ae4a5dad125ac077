import { type AdminTab, type AppTab, consolePaths } from '@svc/contract/console-paths.ts';

/** What a word leads to in the console; `one` where a thing of that kind can be named behind it. */
export type Page =
  | { of: 'tenant'; path: (tenant: string) => string; one?: (tenant: string, id: string) => string }
  | {
      of: 'app';
      path: (tenant: string, app: string) => string;
      one?: (tenant: string, app: string, id: string) => string;
    };

const tab = (name: AppTab) =>
  ({ of: 'app', path: (tenant: string, app: string) => consolePaths.app(tenant, app, name) }) as const;
const admin = (name: AdminTab) =>
  ({ of: 'tenant', path: (tenant: string) => consolePaths.admin(tenant, name) }) as const;

const deployments: Page = { ...tab('deployments'), one: consolePaths.deployment };
const tables: Page = { ...tab('tables'), one: consolePaths.table };
const releases: Page = { ...tab('releases'), one: consolePaths.release };
const reviews: Page = { of: 'tenant', path: consolePaths.reviews, one: consolePaths.review };

/** By the word typed. One thing reads better in the singular, so both are taken. */
export const pages: Readonly<Record<string, Page>> = {
  overview: tab('overview'),
  deployments,
  deployment: deployments,
  logs: tab('logs'),
  metrics: tab('metrics'),
  tables,
  table: tables,
  releases,
  release: releases,
  domains: tab('domains'),
  storage: tab('storage'),
  people: tab('people'),
  environment: tab('environment'),
  settings: tab('settings'),
  apps: { of: 'tenant', path: consolePaths.apps },
  catalogue: { of: 'tenant', path: consolePaths.catalogue },
  reviews,
  review: reviews,
  notifications: { of: 'tenant', path: consolePaths.notifications },
  grants: { of: 'tenant', path: consolePaths.grants },
  tokens: { of: 'tenant', path: consolePaths.tokens },
  sessions: { of: 'tenant', path: consolePaths.sessions },
  members: admin('members'),
  categories: admin('categories'),
  connectors: admin('connectors'),
  presets: admin('presets'),
  policies: admin('policies'),
  audit: admin('audit'),
  tenant: admin('settings'),
};
