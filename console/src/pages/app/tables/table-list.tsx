import { Group, Pagination, Stack, Table, Text, Title } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { createTable, listTables } from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useLocation, useSearchParams } from 'wouter';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { PastTheEnd } from '../../../parts/past-the-end.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { RowCount } from './row-count.tsx';

const perPage = 50;

export function TableList() {
  const { app, tenant, params, why } = useApp();
  const [, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const page = Math.max(1, Number(search.get('page')) || 1);
  const answer = useAnswer(listTables, { params, query: { page, per_page: perPage } });
  const here = consolePaths.app(tenant.slug, app.slug, 'tables');
  const create = (
    <MayButton
      why={why(createTable) ?? whyNotActive(app)}
      onClick={() => go(`${here}?create`)}
      leftSection={<IconPlus size={16} aria-hidden />}
    >
      New table
    </MayButton>
  );
  return (
    <AnswerView answer={answer}>
      {({ items, total }) =>
        items.length === 0 && page > 1 ? (
          <PastTheEnd />
        ) : total === 0 ? (
          <Empty
            title="No table yet"
            command={`svc tables create pets --app ${app.slug} --column name:text --column age:int:nullable --execute`}
            action={create}
          >
            A table keeps rows for the app: typed columns, filters and a data API, reached by nobody else
            until you say so.
          </Empty>
        ) : (
          <Stack>
            <Group justify="space-between">
              <Title order={2} size="h4">
                Tables
              </Title>
              {create}
            </Group>
            <Table.ScrollContainer minWidth={720}>
              <Table highlightOnHover verticalSpacing="sm" aria-label="Tables">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Table</Table.Th>
                    <Table.Th>Columns</Table.Th>
                    <Table.Th>Rows</Table.Th>
                    <Table.Th>Rows belong to</Table.Th>
                    <Table.Th>Shared</Table.Th>
                    <Table.Th>Shape changed</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((table) => (
                    <Table.Tr key={table.id}>
                      <Table.Td maw={420}>
                        <LinkTo to={consolePaths.table(tenant.slug, app.slug, table.name)} fw={600}>
                          {table.name}
                        </LinkTo>
                        {table.description && (
                          <Text size="sm" c="dimmed" lineClamp={2}>
                            {table.description}
                          </Text>
                        )}
                      </Table.Td>
                      <Table.Td>{table.columns.length}</Table.Td>
                      <Table.Td>
                        <RowCount table={table.name} />
                      </Table.Td>
                      <Table.Td>
                        {table.owner_column === null ? 'the app' : `whoever ${table.owner_column} names`}
                      </Table.Td>
                      <Table.Td>
                        <LinkTo to={`${consolePaths.table(tenant.slug, app.slug, table.name)}?view=access`}>
                          {table.grants === 0
                            ? 'with nobody'
                            : table.grants === 1
                              ? '1 grant'
                              : `${table.grants} grants`}
                        </LinkTo>
                      </Table.Td>
                      <Table.Td>
                        <TimeText value={table.updated_at} />
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
            {total > perPage && (
              <Pagination
                total={Math.ceil(total / perPage)}
                value={page}
                onChange={(next) => setSearch({ page: String(next) })}
                getControlProps={(control) => ({ 'aria-label': `${control} page` })}
                getItemProps={(item) => ({ 'aria-label': `Page ${item}` })}
              />
            )}
          </Stack>
        )
      }
    </AnswerView>
  );
}
