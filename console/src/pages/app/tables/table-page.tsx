import { Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { getTable } from '@svc/contract/tables.ts';
import { useSearchParams } from 'wouter';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { useApp } from '../use-app.ts';
import { AccessView } from './access/access-view.tsx';
import { ApiHelp } from './api-help.tsx';
import { RowsView } from './data/rows-view.tsx';
import { SchemaView } from './schema/schema-view.tsx';
import { TableProvider } from './use-table.ts';

const views = {
  data: { label: 'Data', page: RowsView },
  schema: { label: 'Schema', page: SchemaView },
  access: { label: 'Access', page: AccessView },
};
type View = keyof typeof views;
const viewNames = Object.keys(views) as View[];

/** One table: its rows, its shape, and who reaches it. */
export function TablePage({ name }: { name: string }) {
  const { app, tenant, params } = useApp();
  const [search, setSearch] = useSearchParams();
  const answer = useAnswer(getTable, { params: { ...params, table: name } });
  const view = viewNames.find((each) => each === search.get('view')) ?? 'data';
  const { page: Page } = views[view];
  const all = consolePaths.app(tenant.slug, app.slug, 'tables');
  if (isCode(answer.error, 'not_found')) {
    return (
      <Empty
        title={`There is no table ${name}`}
        error={answer.error}
        action={<LinkTo to={all}>All tables</LinkTo>}
      >
        It was renamed or dropped, or the address is not quite right.
      </Empty>
    );
  }
  return (
    <AnswerView answer={answer}>
      {(table) => (
        <TableProvider value={table}>
          <Stack>
            <Group justify="space-between" align="flex-end">
              <Stack gap={2}>
                <LinkTo to={all} size="sm">
                  All tables
                </LinkTo>
                <Title order={2} size="h3">
                  {table.name}
                </Title>
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
                    aria-label="What of the table"
                    value={view}
                    onChange={(next) => setSearch({ view: next })}
                    data={viewNames.map((each) => ({ value: each, label: views[each].label }))}
                  />
                </div>
                <ApiHelp />
              </Group>
            </Group>
            <Page />
          </Stack>
        </TableProvider>
      )}
    </AnswerView>
  );
}
