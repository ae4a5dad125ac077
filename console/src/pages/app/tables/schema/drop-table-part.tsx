import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { dropTable } from '@svc/contract/tables.ts';
import { useLocation } from 'wouter';
import { useChange } from '../../../../change/use-change.ts';
import { MayButton } from '../../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { useTable } from '../use-table.ts';

export function DropTablePart() {
  const { table, app, tenant, params, whyShape } = useTable();
  const [, go] = useLocation();
  const change = useChange(dropTable, {
    title: `Drop ${table.name}`,
    verb: 'Drop table',
    done: `The table ${table.name} is gone.`,
    onDone: () => go(consolePaths.app(tenant.slug, app.slug, 'tables'), { replace: true }),
  });
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Title order={3} size="h4">
          Drop the table
        </Title>
        <Text size="sm">
          Its rows, indexes and grants go with it. This can not be undone; export the rows first.
        </Text>
        {change.problem !== null && <ProblemAlert error={change.problem} />}
        <Group>
          <MayButton
            why={whyShape(dropTable)}
            color="red"
            variant="outline"
            loading={change.isBusy}
            onClick={() => void change.propose({ params })}
          >
            Drop table {table.name}
          </MayButton>
        </Group>
      </Stack>
    </Paper>
  );
}
