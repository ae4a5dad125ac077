import { Group, Stack, Table, Text, Timeline } from '@mantine/core';
import type { RawRow } from '@svc/contract/json.ts';
import { useState } from 'react';
import { useTask } from '../../../../change/use-change.ts';
import { RowButton } from '../../../../components/buttons.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { TimeText } from '../../../../components/display.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { QueryView } from '../../../../components/query-view.tsx';
import { BoldText, Hint, Mono, SmallButton } from '../../../../components/text.tsx';
import { useToast } from '../../../../components/toasts.tsx';
import { useTable } from '../use-table.ts';
import { CellValue } from './cell-editor.tsx';
import { formatCell, sqlNull } from './cell-value.ts';
import { restoreRow } from './rows-api.ts';
import { isSameRequest, useUndo, useVersions, type Version } from './versions.ts';

const actionNames: Readonly<Record<string, string>> = {
  insert: 'Inserted',
  update: 'Changed',
  delete: 'Deleted',
};

/** The changes of a row, newest first. */
export function HistoryDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { table, whyNotWrite } = useTable();
  const [page, setPage] = useState(1);
  const name = formatCell('text', id);
  const answer = useVersions({ id: name, below: 'history' }, page);
  const { undo, tried, isBusy, problem } = useUndo(onClose);
  return (
    <Dialog onClose={onClose} title={`History of row ${name}`} size="lg">
      <QueryView answer={answer}>
        {({ versions, names, hasMore }) => (
          <Stack>
            <Timeline active={-1} bulletSize={12}>
              {versions.map((each) => (
                <Timeline.Item key={each.version} title={actionNames[each.action] ?? each.action}>
                  <Text size="sm" c="dimmed">
                    <TimeText value={each.at} />
                    {each.by !== null && ` by ${names.get(each.by) ?? each.by}`}
                  </Text>
                  <Differences version={each} />
                  {each.action !== 'insert' && each.requestId !== null && (
                    <RowButton
                      verb={undoLabel}
                      name={`of ${each.at}`}
                      why={whyNotWrite ?? (isBusy ? busyReason : null)}
                      onClick={() => void undo(each)}
                    />
                  )}
                  {each.version === tried && <ProblemAlert error={problem} />}
                </Timeline.Item>
              ))}
            </Timeline>
            <Hint>Earlier states are stored for {table.history}.</Hint>
            <Pages page={page} setPage={setPage} hasMore={hasMore} />
          </Stack>
        )}
      </QueryView>
    </Dialog>
  );
}

const undoLabel = 'Undo the whole change…';
const busyReason = 'A change is being prepared.';

export const isShown = (name: string) => !['id', 'created_at', 'updated_at'].includes(name);

function Differences({ version: { before, row } }: { version: Version }) {
  const { table } = useTable();
  const changed = table.columns.filter(
    ({ name }) => isShown(name) && (before?.get(name) ?? sqlNull) !== (row?.get(name) ?? sqlNull),
  );
  if (changed.length === 0) return null;
  return (
    <Table withRowBorders={false} verticalSpacing={2} layout="fixed" aria-label="Changed values">
      <Table.Tbody>
        {changed.map(({ name, type }) => (
          <Table.Tr key={name}>
            <Table.Td>
              <BoldText>{name}</BoldText>
            </Table.Td>
            <Table.Td>
              {before && <CellValue type={type} value={before.get(name) ?? sqlNull} />}
              {before && row && ' → '}
              {row && <CellValue type={type} value={row.get(name) ?? sqlNull} />}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** Deleted rows, the last one first. */
export function TrashDialog({ onClose, onStored }: { onClose: () => void; onStored: () => void }) {
  const { table, path, whyNotWrite } = useTable();
  const showToast = useToast();
  const [page, setPage] = useState(1);
  const answer = useVersions('trash', page);
  const { run, ...task } = useTask();
  const { undo, ...undoing } = useUndo(onClose);
  const why = whyNotWrite ?? (task.isBusy || undoing.isBusy ? busyReason : null);
  const restore = (id: string) =>
    run(async () => {
      await restoreRow(path, id);
      showToast('Row restored.');
      onStored();
      await answer.refetch();
    });
  return (
    <Dialog onClose={onClose} title={`Deleted rows of ${table.name}`} size="xl">
      <Stack>
        <ProblemAlert error={task.problem ?? undoing.problem} />
        <QueryView answer={answer}>
          {({ versions, names, hasMore }) => (
            <>
              {versions.length === 0 && <Hint>The trash is empty.</Hint>}
              {versions.length > 0 && (
                <Table aria-label="Deleted rows">
                  <Table.Thead>
                    <Table.Tr>
                      <Table.Th>Row</Table.Th>
                      <Table.Th>Deleted</Table.Th>
                      <Table.Th>Actions</Table.Th>
                    </Table.Tr>
                  </Table.Thead>
                  <Table.Tbody>
                    {versions.map((each) => {
                      const { version, at, by, before } = each;
                      const json = before?.get('id') ?? '';
                      const id = formatCell('text', json);
                      return (
                        <Table.Tr key={version}>
                          <Table.Td>
                            <Mono>{id}</Mono> {shortText(before)}
                          </Table.Td>
                          <Table.Td>
                            <TimeText value={at} />
                            {by !== null && ` by ${names.get(by) ?? by}`}
                          </Table.Td>
                          <Table.Td>
                            <Group gap="xs">
                              <RowButton
                                verb="Restore"
                                name={`row ${id}`}
                                why={why}
                                onClick={() => void restore(json)}
                              />
                              {versions.some((other) => other !== each && isSameRequest(other, each)) && (
                                <RowButton
                                  verb={undoLabel}
                                  name={`of row ${id}`}
                                  why={why}
                                  onClick={() => void undo(each)}
                                />
                              )}
                            </Group>
                          </Table.Td>
                        </Table.Tr>
                      );
                    })}
                  </Table.Tbody>
                </Table>
              )}
              <Hint>Deleted rows can be restored for {table.soft_delete}.</Hint>
              <Pages page={page} setPage={setPage} hasMore={hasMore} />
            </>
          )}
        </QueryView>
      </Stack>
    </Dialog>
  );
}

export function shortText(row: RawRow | null | undefined): string {
  const values = [...(row ?? [])].filter(([name, json]) => isShown(name) && json !== sqlNull).slice(0, 3);
  return values.map(([name, json]) => `${name}: ${formatCell('text', json).slice(0, 60)}`).join(', ');
}

function Pages({
  page,
  setPage,
  hasMore,
}: {
  page: number;
  setPage: (page: number) => void;
  hasMore: boolean;
}) {
  if (page === 1 && !hasMore) return null;
  return (
    <Group gap="xs">
      {page > 1 && <SmallButton onClick={() => setPage(page - 1)}>Newer</SmallButton>}
      {hasMore && <SmallButton onClick={() => setPage(page + 1)}>Older</SmallButton>}
    </Group>
  );
}
