import { type AdminTab, adminTabs } from '@svc/contract/console-paths.ts';
import { type ComponentType, lazy, Suspense } from 'react';
import { useParams } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { NotFound } from '../../layout/not-found.tsx';
import { Placeholder } from '../../parts/answer-view.tsx';
import { Empty } from '../../parts/empty.tsx';
import { PageHead } from '../../parts/page-head.tsx';

const tabs: Record<AdminTab, { title: string; lead: string; page: ComponentType }> = {
  members: {
    title: 'Members',
    lead: 'Who belongs to the tenant, and who governs it.',
    page: lazy(() => import('./members/tab.tsx')),
  },
  categories: {
    title: 'Categories',
    lead: 'What the catalogue is sorted by.',
    page: lazy(() => import('./categories/tab.tsx')),
  },
  connectors: {
    title: 'Connectors',
    lead: 'Where data comes from. Grants say who uses which.',
    page: lazy(() => import('./connectors/tab.tsx')),
  },
  presets: {
    title: 'Presets',
    lead: 'Named sets of actions, for grants to use.',
    page: lazy(() => import('./presets/tab.tsx')),
  },
  grants: {
    title: 'Grants',
    lead: 'Who may use which connector, for what, and within which scope.',
    page: lazy(() => import('./grants/tab.tsx')),
  },
  policies: {
    title: 'Access policies',
    lead: 'Which rows and columns a grant lets its holder see.',
    page: lazy(() => import('./policies/tab.tsx')),
  },
  settings: {
    title: 'Settings',
    lead: 'Of the tenant as a whole.',
    page: lazy(() => import('./settings/tab.tsx')),
  },
  audit: {
    title: 'Audit log',
    lead: 'Everything that was changed, by whom, newest first.',
    page: lazy(() => import('./audit/tab.tsx')),
  },
};

/** What tenant admins look after: one page for each noun, its parts in the rest of the address. */
export default function AdminPage() {
  const { name, role } = useTenant();
  const { tab: asked = 'members' } = useParams<{ tab?: string }>();
  const tab = adminTabs.find((one) => one === asked);
  if (tab === undefined) return <NotFound />;
  const { title, lead, page: Page } = tabs[tab];
  if (role !== 'tenant_admin') {
    return (
      <>
        <PageHead title={title} />
        <Empty title="Only tenant admins reach this page" command="svc whoami">
          You are a member of {name}. Its admins look after members, connectors, grants and policies; ask one
          of them for what you need. What is granted to you stands under “My grants”.
        </Empty>
      </>
    );
  }
  return (
    <>
      <PageHead title={title} lead={lead} />
      <Suspense fallback={<Placeholder lines={6} />}>
        <Page />
      </Suspense>
    </>
  );
}
