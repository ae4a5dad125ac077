import { Group, Stack, Table, Text } from '@mantine/core';
import { deleteConnector, listConnectors } from '@svc/contract/connectors.ts';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { PastTheEnd } from '../../../parts/past-the-end.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead, NewButton } from '../list-head.tsx';
import { RowButton } from '../row-button.tsx';
import { kindTexts } from './connector-kinds.ts';

export function ConnectorList() {
  const tenant = useTenant();
  const page = usePage();
  const params = { tenantID: tenant.id };
  const answer = useAnswer(listConnectors, { params, query: { page } });
  const remove = useChange(deleteConnector, {
    title: 'Delete a connector',
    verb: 'Delete',
    done: 'The connector is deleted.',
  });
  const path = (part: string) => adminPath(tenant.slug, 'connectors', part);
  return (
    <AnswerView answer={answer}>
      {({ items, page: shown, per_page: perPage, total }) =>
        items.length === 0 && shown > 1 ? (
          <PastTheEnd />
        ) : total === 0 ? (
          <Empty
            title="No connector yet"
            command="svc connectors create --name Warehouse --kind postgres --execute"
            action={<NewButton to={path('new')} label="New connector" />}
          >
            A connector stands for a place that data comes from. A grant lets a member use one of them.
          </Empty>
        ) : (
          <>
            <ListHead to={path('new')} label="New connector" />
            {remove.problem !== null && <ProblemAlert error={remove.problem} />}
            <Table.ScrollContainer minWidth={620}>
              <Table highlightOnHover verticalSpacing="sm" aria-label="Connectors">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Connector</Table.Th>
                    <Table.Th>Kind</Table.Th>
                    <Table.Th>Slug</Table.Th>
                    <Table.Th>Changed</Table.Th>
                    <Table.Th>Actions</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((connector) => (
                    <Table.Tr key={connector.id}>
                      <Table.Td>
                        <Stack gap={0}>
                          <LinkTo to={path(connector.id)} fw={600}>
                            {connector.name}
                          </LinkTo>
                          {connector.description && (
                            <Text size="sm" c="dimmed" lineClamp={2}>
                              {connector.description}
                            </Text>
                          )}
                        </Stack>
                      </Table.Td>
                      <Table.Td>{kindTexts[connector.kind].label}</Table.Td>
                      <Table.Td className="mono">{connector.slug}</Table.Td>
                      <Table.Td>
                        <TimeText value={connector.updated_at} />
                      </Table.Td>
                      <Table.Td>
                        <Group gap="xs" wrap="nowrap">
                          <LinkTo
                            to={`${adminPath(tenant.slug, 'grants')}?connector=${connector.id}`}
                            size="sm"
                          >
                            Grants
                          </LinkTo>
                          <RowButton
                            verb="Delete"
                            name={`connector ${connector.name}`}
                            onClick={() =>
                              void remove.propose({ params: { ...params, connectorID: connector.id } })
                            }
                          />
                        </Group>
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
            <Pager page={shown} perPage={perPage} total={total} />
          </>
        )
      }
    </AnswerView>
  );
}
