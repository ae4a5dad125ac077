import { Code, Text, Title } from '@mantine/core';
import { listInspections } from '@svc/contract/inspection.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { DataTable } from '../../../parts/data-table.tsx';
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
          <DataTable
            label="What was read"
            minWidth={420}
            highlightOnHover={false}
            verticalSpacing={7}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              { head: 'Who', cell: (entry) => entry.reader_email },
              { head: 'What', cell: ({ what }) => what },
              { head: 'Why', cell: ({ reason }) => reason },
              { head: 'When', cell: ({ at }) => <TimeText value={at} /> },
            ]}
          />
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
