import { Button, Group, Stack } from '@mantine/core';
import { type AdminTab, consolePaths } from '@svc/contract/console-paths.ts';
import type { Endpoint, Shape } from '@svc/contract/endpoint.ts';
import { IconArrowLeft } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ComponentProps, ComponentType, ReactNode } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { isMissing } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { NewButton } from '../../components/buttons.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { FormCard } from '../../components/form-card.tsx';
import { EmptyState } from '../../components/page-layout.tsx';
import { ListHead, type ListPage, PagedList } from '../../components/paged-list.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { useForm } from '../../components/use-form.ts';

/** Shows the part of a tab that the URL names: the list, the form for a new item, or one item. */
export function AdminRoutes({
  list: List,
  create: Create,
  item: Item,
}: {
  list: ComponentType;
  create: ComponentType;
  item?: ComponentType<{ id: string }>;
}) {
  const { part } = useParams<{ part?: string }>();
  if (part === 'new') return <Create />;
  return part === undefined || !Item ? <List /> : <Item key={part} id={part} />;
}

export function FormPage({
  tab,
  ...form
}: Omit<ComponentProps<typeof FormCard>, 'cancel'> & { tab: AdminTab }) {
  const { slug } = useTenant();
  return (
    <Stack gap="md">
      <BackToList tab={tab} />
      <FormCard cancel={adminPath(slug, tab)} {...form} />
    </Stack>
  );
}

export function BackToList({ tab }: { tab: AdminTab }) {
  const { slug } = useTenant();
  return <BackLink to={adminPath(slug, tab)} label={`All ${tab}`} />;
}

export function BackLink({ to, label }: { to: string; label: string }) {
  return (
    <Group>
      <Button
        component={Link}
        href={to}
        variant="subtle"
        size="compact-md"
        leftSection={<IconArrowLeft size={16} aria-hidden />}
      >
        {label}
      </Button>
    </Group>
  );
}

export function adminPath(tenant: string, tab: AdminTab, part?: string): string {
  const list = consolePaths.admin(tenant, tab);
  return part === undefined ? list : `${list}/${encodeURIComponent(part)}`;
}

export function useAdminForm<S extends Shape, T extends object>(
  endpoint: Endpoint<S>,
  tab: AdminTab,
  record: T,
  options: Parameters<typeof useForm<S, T>>[2],
) {
  const tenant = useTenant();
  const [, go] = useLocation();
  return useForm(endpoint, record, { ...options, onDone: () => go(adminPath(tenant.slug, tab)) });
}

export function AdminItem<T>({
  tab,
  what,
  answer,
  isHidden = false,
  children,
}: {
  tab: AdminTab;
  what: string;
  answer: UseQueryResult<T>;
  isHidden?: boolean;
  children: (item: T) => ReactNode;
}) {
  if (!isHidden && !isMissing(answer.error)) return <QueryView answer={answer}>{children}</QueryView>;
  return (
    <>
      <BackToList tab={tab} />
      <EmptyState title={`This ${what} does not exist`} error={answer.error}>
        It may have been deleted, or the URL is incomplete. The list shows what exists.
      </EmptyState>
    </>
  );
}

export function AdminList<T>({
  tab,
  noun,
  answer,
  problem,
  command,
  lead,
  label,
  ...table
}: Omit<ComponentProps<typeof DataTable<T>>, 'rows'> & {
  tab: AdminTab;
  noun: string;
  answer: UseQueryResult<ListPage<T>>;
  problem: ReactNode;
  command?: string;
  lead?: string;
}) {
  const { slug } = useTenant();
  const create = { to: adminPath(slug, tab, 'new'), label: `New ${noun}` };
  return (
    <PagedList
      answer={answer}
      empty={
        <EmptyState
          title={`No ${label.toLowerCase()} yet`}
          command={command}
          action={<NewButton {...create} />}
        >
          {lead}
        </EmptyState>
      }
    >
      {(items) => (
        <>
          <ListHead {...create} />
          {problem}
          <DataTable label={label} rows={items} {...table} />
        </>
      )}
    </PagedList>
  );
}
