import { Group, Stack, Text, Title } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { createTable, listTables } from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useLocation } from 'wouter';
import { useAnswer } from '../../../api/use-answer.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { RowCount } from './row-count.tsx';

const perPage = 50;

export function TableList() {
  const { app, tenant, params, why } = useApp();
  const [, go] = useLocation();
  const page = usePage();
  const answer = useAnswer(listTables, { params, query: { page, per_page: perPage } });
  const here = consolePaths.app(tenant.slug, app.slug, 'tables');
  const path = (table: string) => consolePaths.table(tenant.slug, app.slug, table);
  const create = (
    <MayButton
      why={why(createTable) ?? whyNotActive(app)}
      onClick={() => go(`${here}?create`)}
      leftSection={<IconPlus size={16} aria-hidden />}
      data-opens="new-table"
    >
      New table
    </MayButton>
  );
  return (
    <PagedList
      answer={answer}
      empty={
        <Empty
          title="No table yet"
          command={`svc tables create pets --app ${app.slug} --column name:text --column age:int:nullable --execute`}
          action={create}
        >
          A table keeps rows for the app: typed columns, filters and a data API, reached by nobody else until
          you say so.
        </Empty>
      }
    >
      {(items) => (
        <Stack>
          <Group justify="space-between">
            <Title order={2} size="h4">
              Tables
            </Title>
            {create}
          </Group>
          <DataTable
            label="Tables"
            minWidth={720}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              {
                head: 'Table',
                cell: ({ name, description }) => (
                  <>
                    <LinkTo to={path(name)} fw={600}>
                      {name}
                    </LinkTo>
                    {description && (
                      <Text size="sm" c="dimmed" lineClamp={2}>
                        {description}
                      </Text>
                    )}
                  </>
                ),
                td: { maw: 420 },
              },
              { head: 'Columns', cell: ({ columns }) => columns.length },
              { head: 'Rows', cell: ({ name }) => <RowCount table={name} /> },
              {
                head: 'Rows belong to',
                cell: ({ owner_column: owner }) => (owner === null ? 'the app' : `whoever ${owner} names`),
              },
              {
                head: 'Shared',
                cell: ({ name, grants }) => (
                  <LinkTo to={`${path(name)}?view=access`}>{sharedText(grants)}</LinkTo>
                ),
              },
              { head: 'Shape changed', cell: (table) => <TimeText value={table.updated_at} /> },
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
