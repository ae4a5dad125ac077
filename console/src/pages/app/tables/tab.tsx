import { Code, Group, Modal, SegmentedControl, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { getTable, listTables } from '@svc/contract/tables.ts';
import { IconCode } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { useParams, useSearchParams } from 'wouter';
import { isCode } from '../../../api/client.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { ActionButton, CopyIconButton } from '../../../components/buttons.tsx';
import { EmptyState, LinkTo, SmallLink } from '../../../components/page-layout.tsx';
import { Loading, QueryView } from '../../../components/query-view.tsx';
import { BoldText, Heading } from '../../../components/text.tsx';
import { useApp } from '../use-app.tsx';
import { TableList } from './table-list.tsx';
import { isChangeable, TableProvider, useTable, withValueTypes } from './use-table.ts';

const NewTable = lazy(async () => ({ default: (await import('./new-table.tsx')).NewTable }));

export default function TablesTab() {
  const { part } = useParams<{ part?: string }>();
  const [search] = useSearchParams();
  const { why, app } = useApp();
  const reason = why(listTables);
  if (reason !== null) {
    return (
      <EmptyState
        title="Only the app's owners can see its tables"
        command={`svc rows list <table> --app ${app.slug}`}
      >
        {reason} People with a table grant read and write rows with the data API.
      </EmptyState>
    );
  }
  if (part !== undefined) return <TablePage key={part} name={part} />;
  return search.has('create') ? <NewTable /> : <TableList />;
}

const views = {
  data: {
    label: 'Data',
    page: lazy(async () => ({ default: (await import('./data/rows-view.tsx')).RowsView })),
  },
  schema: {
    label: 'Schema',
    page: lazy(async () => ({ default: (await import('./schema-view.tsx')).SchemaView })),
  },
  access: {
    label: 'Access',
    page: lazy(async () => ({ default: (await import('./access-view.tsx')).AccessView })),
  },
  as: { label: 'View as', page: lazy(async () => ({ default: (await import('./view-as.tsx')).ViewAs })) },
};
type View = keyof typeof views;
const viewNames = Object.keys(views) as View[];

function TablePage({ name }: { name: string }) {
  const { params, paths } = useApp();
  const [search, setSearch] = useSearchParams();
  const answer = useEndpoint(getTable, { params: { ...params, table: name } });
  const view = viewNames.find((each) => each === search.get('view')) ?? 'data';
  const { page: Page } = views[view];
  const all = paths.app('tables');
  if (isCode(answer.error, 'not_found')) {
    return (
      <EmptyState
        title={`Table ${name} does not exist`}
        error={answer.error}
        action={<LinkTo to={all}>All tables</LinkTo>}
      >
        It was renamed or dropped, or the URL is wrong.
      </EmptyState>
    );
  }
  return (
    <QueryView answer={answer}>
      {(table) => (
        <TableProvider value={view === 'data' ? withValueTypes(table) : table}>
          <Stack>
            <Group justify="space-between" align="flex-end">
              <Stack gap={2}>
                <SmallLink to={all}>All tables</SmallLink>
                <Heading size="h3">{table.name}</Heading>
                {table.description && (
                  <Text c="dimmed" maw={720}>
                    {table.description}
                  </Text>
                )}
              </Stack>
              <Group gap="sm" maw="100%">
                <div className="scroll-x">
                  <SegmentedControl
                    transitionDuration={0}
                    aria-label="View"
                    value={view}
                    onChange={(next) => setSearch({ view: next })}
                    data={viewNames.map((each) => ({ value: each, label: views[each].label }))}
                  />
                </div>
                <ApiHelp />
              </Group>
            </Group>
            <Suspense fallback={<Loading lines={6} />}>
              <Page />
            </Suspense>
          </Stack>
        </TableProvider>
      )}
    </QueryView>
  );
}

function ApiHelp() {
  const [isOpen, { open, close }] = useDisclosure(false);
  const { table, app, tenant, path } = useTable();
  const column = table.columns.find((each) => isChangeable(table, each))?.name ?? 'id';
  const url = `${location.origin}${path}`;
  const samples = [
    {
      what: 'curl: a page of rows',
      text: `curl -H "X-Api-Key: $SVC_API_KEY" '${url}?sort=-${column}&per_page=20'`,
    },
    {
      what: 'curl: insert a row',
      text: `curl -H "X-Api-Key: $SVC_API_KEY" -H 'Content-Type: application/json' -d '{"${column}": null}' '${url}'`,
    },
    {
      what: 'SDK',
      text: [
        `const client = createClient({ baseUrl: '${location.origin}', tenant: '${tenant.slug}', app: '${app.slug}', auth });`,
        `const rows = await client.table('${table.name}').sort('-${column}').perPage(20).list();`,
      ].join('\n'),
    },
    { what: 'Command line', text: `svc rows list ${table.name} --app ${app.slug} --tenant ${tenant.slug}` },
  ];
  return (
    <>
      <ActionButton icon={IconCode} onClick={open}>
        API
      </ActionButton>
      <Modal opened={isOpen} onClose={close} title={`${table.name} API`} size="xl">
        <Stack>
          <Text size="sm">
            Authenticate with a personal access token (Access tokens) or a login. Filters are written
            column=op.value, as in the URL of the grid.
          </Text>
          {samples.map(({ what, text }) => (
            <Stack key={what} gap={4}>
              <BoldText>
                {what} <CopyIconButton value={text} label={what} />
              </BoldText>
              <Code block style={{ whiteSpace: 'pre-wrap' }}>
                {text}
              </Code>
            </Stack>
          ))}
        </Stack>
      </Modal>
    </>
  );
}
