import { Code, Table, Text, Title } from '@mantine/core';
import { listInspections } from '@svc/contract/inspection.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';

const shownMax = 10;

/** Who has read what, and why they said they did. */
export function InspectionList() {
  const { app, params } = useApp();
  const answer = useAnswer(listInspections, { params, query: { per_page: shownMax } });
  return (
    <AnswerView answer={answer} lines={2}>
      {({ items, total }) => (
        <div>
          <Title order={3} size="h5" mb="xs">
            What was read
          </Title>
          <Table.ScrollContainer minWidth={420}>
            <Table aria-label="What was read">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Who</Table.Th>
                  <Table.Th>What</Table.Th>
                  <Table.Th>Why</Table.Th>
                  <Table.Th>When</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((entry) => (
                  <Table.Tr key={entry.id}>
                    <Table.Td>{entry.reader_email}</Table.Td>
                    <Table.Td>{entry.what}</Table.Td>
                    <Table.Td>{entry.reason}</Table.Td>
                    <Table.Td>
                      <TimeText value={entry.at} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          {total > shownMax && (
            <Text size="sm" c="dimmed" mt="xs">
              The latest {shownMax} of {total}. All of them:{' '}
              <Code>{`svc apps inspection-consent ledger --app ${app.slug}`}</Code>
            </Text>
          )}
        </div>
      )}
    </AnswerView>
  );
}
