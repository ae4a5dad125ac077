import { Anchor, Group, Stack, Text } from '@mantine/core';
import { explorerPath } from '@svc/contract/console-paths.ts';
import { tablePath } from '@svc/contract/row-path.ts';
import { countCap } from '@svc/contract/rows.ts';
import { openToChanges } from '@svc/contract/table-rules.ts';
import { createTable, listTables } from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { ActionButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { BoldLink, EmptyState, LinkTo } from '../../../components/page-layout.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { BoldText, Heading, Hint, SmallButton } from '../../../components/text.tsx';
import { usePage } from '../../../components/url-state.ts';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { fetchCount } from './data/rows-api.ts';
import { SchemaDrift } from './schema-drift.tsx';

const perPage = 50;

export function TableList() {
  const { app, tenant, params, why, paths } = useApp();
  const [, go] = useLocation();
  const page = usePage();
  const answer = useEndpoint(listTables, { params, query: { page, per_page: perPage } });
  const create = (
    <ActionButton
      variant="filled"
      why={why(createTable) ?? whyNotActive(app)}
      onClick={() => go(`${paths.app('tables')}?create`)}
      icon={IconPlus}
      data-opens="new-table"
    >
      New table
    </ActionButton>
  );
  return (
    <PagedList
      answer={answer}
      empty={
        <EmptyState
          title="No tables yet"
          command={`svc tables create pets --app ${app.slug} --column name:text --column age:int:nullable --execute`}
          action={create}
        >
          A table stores rows of the app, with typed columns, filters and a data API. Rules say who of the
          app's users may do what.
        </EmptyState>
      }
    >
      {(items) => (
        <Stack>
          <Group justify="space-between">
            <Heading>Tables</Heading>
            <Group gap="md">
              <Anchor size="sm" href={explorerPath(tenant.slug, app.slug)} target="_blank">
                API explorer
              </Anchor>
              {create}
            </Group>
          </Group>
          <SchemaDrift />
          <DataTable
            label="Tables"
            minWidth={720}
            rows={items}
            columns={[
              {
                head: 'Table',
                cell: ({ name, description }) => (
                  <>
                    <BoldLink to={paths.table(name)}>{name}</BoldLink>
                    {description && <Hint lineClamp={2}>{description}</Hint>}
                  </>
                ),
                td: { maw: 420 },
              },
              { head: 'Columns', cell: ({ columns }) => columns.length },
              { head: 'Rows', cell: ({ name }) => <RowCount table={name} /> },
              {
                head: 'Rows belong to',
                cell: ({ owner_column: owner }) => (owner === null ? 'the app' : `the user in ${owner}`),
              },
              {
                head: 'Rules',
                cell: ({ name, access, open_to_changes: isOpen }) => (
                  <>
                    <LinkTo to={`${paths.table(name)}?view=access`}>{access}</LinkTo>
                    {isOpen && <BoldText>Warning: {openToChanges}</BoldText>}
                  </>
                ),
                td: { maw: 240 },
              },
              {
                head: 'Shared',
                cell: ({ name, grants }) => (
                  <LinkTo to={`${paths.table(name)}?view=access`}>{sharedText(grants)}</LinkTo>
                ),
              },
              { head: 'Schema changed', cell: (table) => <TimeText value={table.updated_at} /> },
            ]}
          />
        </Stack>
      )}
    </PagedList>
  );
}

function sharedText(grants: number): string {
  if (grants === 0) return 'with nobody';
  return grants === 1 ? '1 grant' : `${grants} grants`;
}

function RowCount({ table }: { table: string }) {
  const { app, tenant } = useApp();
  const [isAsked, setAsked] = useState(false);
  const path = tablePath(tenant.slug, app.slug, table);
  const answer = useQuery({
    queryKey: ['rows.count', path, ''],
    queryFn: ({ signal }) => fetchCount(path, new URLSearchParams(), signal),
    enabled: isAsked,
  });
  if (isAsked && answer.data !== undefined) return <Text span>{countText(answer.data)}</Text>;
  if (answer.isError) return <Text span>unknown</Text>;
  return (
    <SmallButton loading={isAsked} onClick={() => setAsked(true)} aria-label={`Count rows of ${table}`}>
      Count
    </SmallButton>
  );
}

function countText(count: number): string {
  return count >= countCap ? `${countCap.toLocaleString('en')} or more` : count.toLocaleString('en');
}
