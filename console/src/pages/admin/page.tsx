import { type AdminTab, adminTabs } from '@svc/contract/console-paths.ts';
import { type ComponentType, lazy, Suspense } from 'react';
import { useParams } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { EmptyState, PageHead } from '../../components/page-layout.tsx';
import { Loading } from '../../components/query-view.tsx';
import { NotFound } from '../../layout/not-found.tsx';

const tabs: Record<AdminTab, { title: string; lead: string; page: ComponentType }> = {
  members: {
    title: 'Members',
    lead: 'The people of the tenant and its admins.',
    page: lazy(() => import('./members.tsx')),
  },
  groups: {
    title: 'Groups',
    lead: 'Groups of members, for grants, table grants and invitations to apps.',
    page: lazy(() => import('./groups.tsx')),
  },
  categories: {
    title: 'Categories',
    lead: 'Categories of the catalogue.',
    page: lazy(() => import('./categories.tsx')),
  },
  connectors: {
    title: 'Connectors',
    lead: 'Data sources. Grants control who can use them.',
    page: lazy(() => import('./connectors.tsx')),
  },
  presets: {
    title: 'Presets',
    lead: 'Named sets of actions for grants.',
    page: lazy(() => import('./presets.tsx')),
  },
  grants: {
    title: 'Grants',
    lead: 'Who may use which connector, with which actions and scope.',
    page: lazy(() => import('./grants/tab.tsx')),
  },
  policies: {
    title: 'Access policies',
    lead: 'Limits on the rows and columns that a grant shows.',
    page: lazy(() => import('./policies/tab.tsx')),
  },
  settings: {
    title: 'Settings',
    lead: 'Settings of the whole tenant.',
    page: lazy(() => import('./settings.tsx')),
  },
  audit: {
    title: 'Audit log',
    lead: 'All changes and who made them, newest first.',
    page: lazy(() => import('./audit.tsx')),
  },
};

export default function AdminPage() {
  const { name, role } = useTenant();
  const { tab: tabName = 'members' } = useParams<{ tab?: string }>();
  const tab = adminTabs.find((one) => one === tabName);
  if (tab === undefined) return <NotFound />;
  const { title, lead, page: Page } = tabs[tab];
  if (role !== 'tenant_admin') {
    return (
      <>
        <PageHead title={title} />
        <EmptyState title="Only tenant admins can open this page" command="svc whoami">
          You are a member of {name}. Its admins manage members, connectors, grants and policies; ask one of
          them for what you need. Your own grants are listed under “My access”.
        </EmptyState>
      </>
    );
  }
  return (
    <>
      <PageHead title={title} lead={lead} />
      <Suspense fallback={<Loading lines={6} />}>
        <Page />
      </Suspense>
    </>
  );
}
