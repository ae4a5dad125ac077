import { Alert, Button, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { useTable } from '../use-table.ts';
import { cellText } from './cell-value.ts';
import { CellValueText } from './cell-value-text.tsx';
import type { RowEdit } from './edits.ts';
import type { RawRow } from './raw-json.ts';
import type { Outcome } from './review-dialog.tsx';
import type { ReadRow } from './rows-api.ts';

/** One row: what it was and would be; where somebody else has changed it, theirs beside mine. */
export function ReviewedRow({
  id,
  edit,
  outcome,
  isBusy,
  onDrop,
  onSaveMine,
}: {
  id: string;
  edit: RowEdit;
  outcome: Outcome | null;
  isBusy: boolean;
  onDrop: () => void;
  onSaveMine: (theirs: ReadRow) => void;
}) {
  const { table } = useTable();
  const name = cellText('text', id);
  const theirs = outcome?.kind === 'conflict' ? outcome.theirs : null;
  const columns = table.columns.filter(
    (column) => edit.changes.has(column.name) || (theirs && isTheirs(column.name, edit, theirs.row)),
  );
  return (
    <Paper withBorder p="sm">
      <Stack gap="xs">
        <Text size="sm" fw={600}>
          Row <span className="mono">{name}</span>
        </Text>
        {theirs && (
          <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />}>
            Somebody else has changed this row since you began.
          </Alert>
        )}
        <Table.ScrollContainer minWidth={0}>
          <Table aria-label={`Changes of row ${name}`} verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Column</Table.Th>
                <Table.Th>Before</Table.Th>
                {theirs && <Table.Th>Theirs, now</Table.Th>}
                <Table.Th>{theirs ? 'Mine' : 'After'}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {columns.map(({ name: column, type }) => (
                <Table.Tr key={column}>
                  <Table.Td>{column}</Table.Td>
                  <Table.Td>
                    <CellValueText type={type} value={edit.base.get(column) ?? 'null'} />
                  </Table.Td>
                  {theirs && (
                    <Table.Td>
                      <CellValueText type={type} value={theirs.row.get(column) ?? 'null'} />
                    </Table.Td>
                  )}
                  <Table.Td fw={600}>
                    {edit.changes.has(column) ? (
                      <CellValueText type={type} value={edit.changes.get(column) ?? 'null'} />
                    ) : (
                      'not changed by you'
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
        {outcome?.kind === 'refused' && <ProblemAlert error={outcome.error} />}
        {outcome && (
          <Group gap="xs">
            <Button variant="default" size="compact-md" disabled={isBusy} onClick={onDrop}>
              {theirs ? 'Keep theirs' : 'Drop my change'}
            </Button>
            {theirs && (
              <Button size="compact-md" disabled={isBusy} onClick={() => onSaveMine(theirs)}>
                Save mine
              </Button>
            )}
          </Group>
        )}
      </Stack>
    </Paper>
  );
}

const isTheirs = (column: string, { base }: RowEdit, now: RawRow) =>
  column !== 'updated_at' && base.get(column) !== now.get(column);
