import { Group } from '@mantine/core';
import { deleteConnector, listConnectors } from '@svc/contract/connectors.ts';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { NewButton } from '../../../parts/new-button.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead } from '../list-head.tsx';
import { NameCell } from '../name-cell.tsx';
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
    <PagedList
      answer={answer}
      empty={
        <Empty
          title="No connector yet"
          command="svc connectors create --name Warehouse --kind postgres --execute"
          action={<NewButton to={path('new')} label="New connector" />}
        >
          A connector stands for a place that data comes from. A grant lets a member use one of them.
        </Empty>
      }
    >
      {(items) => (
        <>
          <ListHead to={path('new')} label="New connector" />
          {remove.problem !== null && <ProblemAlert error={remove.problem} />}
          <DataTable
            label="Connectors"
            minWidth={620}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              {
                head: 'Connector',
                cell: ({ id, name, description }) => (
                  <NameCell to={path(id)} name={name} description={description} />
                ),
              },
              { head: 'Kind', cell: ({ kind }) => kindTexts[kind].label },
              { head: 'Slug', cell: ({ slug }) => slug, td: { className: 'mono' } },
              { head: 'Changed', cell: (connector) => <TimeText value={connector.updated_at} /> },
              {
                head: 'Actions',
                cell: ({ id, name }) => (
                  <Group gap="xs" wrap="nowrap">
                    <LinkTo to={`${adminPath(tenant.slug, 'grants')}?connector=${id}`} size="sm">
                      Grants
                    </LinkTo>
                    <RowButton
                      verb="Delete"
                      name={`connector ${name}`}
                      onClick={() => void remove.propose({ params: { ...params, connectorID: id } })}
                    />
                  </Group>
                ),
              },
            ]}
          />
        </>
      )}
    </PagedList>
  );
}
