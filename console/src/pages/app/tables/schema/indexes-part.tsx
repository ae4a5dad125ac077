import { Group, Stack, Text, Title } from '@mantine/core';
import { indexesPerTableMax } from '@svc/contract/columns.ts';
import { addIndex, dropIndex, listIndexes } from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useAnswer } from '../../../../api/use-answer.ts';
import { useChange } from '../../../../change/use-change.ts';
import { AnswerView } from '../../../../parts/answer-view.tsx';
import { DataTable } from '../../../../parts/data-table.tsx';
import { MayButton } from '../../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { TimeText } from '../../../../parts/time-text.tsx';
import { useTable } from '../use-table.ts';
import { AddIndexDialog } from './add-index-dialog.tsx';

export function IndexesPart() {
  const { params, whyShape } = useTable();
  const [isOpen, setOpen] = useState(false);
  const answer = useAnswer(listIndexes, { params, query: { per_page: 50 } });
  const drop = useChange(dropIndex, {
    title: 'Drop the index',
    verb: 'Drop index',
    done: 'The index is gone.',
  });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={3} size="h4">
          Indexes and unique constraints
        </Title>
        <MayButton
          why={whyShape(addIndex) ?? whyFull(answer.data?.total ?? 0)}
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => setOpen(true)}
        >
          Add an index
        </MayButton>
      </Group>
      {drop.problem !== null && <ProblemAlert error={drop.problem} />}
      <AnswerView answer={answer} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Text size="sm" c="dimmed">
              None yet. An index makes filters and sorting by its columns quick; a unique one lets no two rows
              have the same values.
            </Text>
          ) : (
            <DataTable
              label="Indexes"
              minWidth={680}
              highlightOnHover={false}
              verticalSpacing="xs"
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                { head: 'Name', cell: ({ name }) => name, td: { className: 'mono' } },
                { head: 'Columns', cell: ({ columns }) => columns.join(', ') },
                { head: 'Unique', cell: ({ unique }) => (unique ? 'unique' : 'no') },
                { head: 'Made', cell: (index) => <TimeText value={index.created_at} /> },
                {
                  head: 'Change',
                  cell: ({ id, name }) => (
                    <MayButton
                      why={whyShape(dropIndex)}
                      size="compact-sm"
                      variant="default"
                      onClick={() => void drop.propose({ params: { ...params, index: id } })}
                      aria-label={`Drop index ${name}`}
                    >
                      Drop
                    </MayButton>
                  ),
                },
              ]}
            />
          )
        }
      </AnswerView>
      {isOpen && <AddIndexDialog onClose={() => setOpen(false)} />}
    </Stack>
  );
}

const whyFull = (count: number) =>
  count >= indexesPerTableMax ? `A table has at most ${indexesPerTableMax} indexes; drop one first.` : null;
