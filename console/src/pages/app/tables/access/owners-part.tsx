import { List, Stack, Text, Title } from '@mantine/core';
import { listCoOwners } from '@svc/contract/apps.ts';
import { useAnswer } from '../../../../api/use-answer.ts';
import { AnswerView } from '../../../../parts/answer-view.tsx';
import { useApp } from '../../use-app.ts';
import { useTable } from '../use-table.ts';

/** Those who reach the table without a grant. */
export function OwnersPart() {
  const { table } = useTable();
  const { params } = useApp();
  const answer = useAnswer(listCoOwners, { params, query: { per_page: 200 } });
  const own = table.owner_column === null ? 'all rows' : 'rows of their own';
  return (
    <Stack gap="sm">
      <Title order={3} size="h4">
        Who reaches it
      </Title>
      <AnswerView answer={answer} lines={2}>
        {({ items }) => (
          <List size="sm" spacing={4}>
            <List.Item>
              Its owners read and write all rows: {items.map(({ name, email }) => name || email).join(', ')}.
            </List.Item>
            <List.Item>People who sign in through the app read and write {own}.</List.Item>
            <List.Item>
              A personal access token reaches what its maker reaches, within its own bounds.
            </List.Item>
            <List.Item>
              Whoever has a grant below, and nobody else. To all others the table is not there.
            </List.Item>
          </List>
        )}
      </AnswerView>
      {table.owner_column !== null && (
        <Text size="sm" c="dimmed">
          Rows belong to whoever {table.owner_column} names: who comes by a grant sees and changes rows of
          their own only.
        </Text>
      )}
    </Stack>
  );
}
