import { Badge, Group, Stack, Text, Title } from '@mantine/core';
import { addColumn, dropColumn, updateColumn } from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useChange } from '../../../../change/use-change.ts';
import { DataTable } from '../../../../parts/data-table.tsx';
import { MayButton } from '../../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { type ColumnView, useTable } from '../use-table.ts';
import { AddColumnDialog } from './add-column-dialog.tsx';
import { ColumnDialog } from './column-dialog.tsx';

export function ColumnsPart() {
  const { table, params, whyShape } = useTable();
  const [opened, setOpened] = useState<ColumnView | 'new' | null>(null);
  const drop = useChange(dropColumn, {
    title: 'Drop the column',
    verb: 'Drop column',
    done: 'The column is gone.',
  });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={3} size="h4">
          Columns
        </Title>
        <MayButton
          why={whyShape(addColumn)}
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => setOpened('new')}
        >
          Add a column
        </MayButton>
      </Group>
      {drop.problem !== null && <ProblemAlert error={drop.problem} />}
      <DataTable
        label="Columns"
        minWidth={620}
        highlightOnHover={false}
        verticalSpacing="xs"
        rows={table.columns}
        keyOf={({ name }) => name}
        columns={[
          {
            head: 'Name',
            cell: ({ name }) => (
              <Group gap="xs">
                <span className="mono">{name}</span>
                {name === table.owner_column && <Badge variant="light">owner of the row</Badge>}
              </Group>
            ),
          },
          { head: 'Type', cell: ({ type }) => type },
          { head: 'Null', cell: ({ nullable }) => (nullable ? 'may be null' : 'never null') },
          {
            head: 'Default',
            cell: (column) => <DefaultText column={column} ownerColumn={table.owner_column} />,
          },
          {
            head: 'Change',
            cell: (column) => (
              <Group gap="xs" wrap="nowrap">
                <MayButton
                  why={whyShape(updateColumn)}
                  size="compact-sm"
                  variant="default"
                  onClick={() => setOpened(column)}
                  aria-label={`Edit column ${column.name}`}
                >
                  Edit
                </MayButton>
                <MayButton
                  why={whyShape(dropColumn) ?? whyKept(column, table.owner_column)}
                  size="compact-sm"
                  variant="default"
                  onClick={() => void drop.propose({ params: { ...params, column: column.name } })}
                  aria-label={`Drop column ${column.name}`}
                >
                  Drop
                </MayButton>
              </Group>
            ),
          },
        ]}
      />
      {opened === 'new' && <AddColumnDialog onClose={() => setOpened(null)} />}
      {opened !== null && opened !== 'new' && (
        <ColumnDialog column={opened} onClose={() => setOpened(null)} />
      )}
    </Stack>
  );
}

function DefaultText({ column, ownerColumn }: { column: ColumnView; ownerColumn: string | null }) {
  if (column.default !== null)
    return <span className="mono">{column.default === '' ? '""' : column.default}</span>;
  if (column.generated) return <Text size="sm">made by the service</Text>;
  if (column.name === ownerColumn) return <Text size="sm">who inserts the row</Text>;
  return <Text size="sm">none</Text>;
}

/** What each row must have can not go. */
function whyKept({ name, generated }: ColumnView, ownerColumn: string | null): string | null {
  if (name === ownerColumn) return `${name} holds the owners of rows.`;
  return generated || name === 'id' ? `Each row has its ${name}.` : null;
}
