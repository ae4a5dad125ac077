import { Group, Stack, Table, Text, Timeline } from '@mantine/core';
import { jsonItems, jsonMembers, type RawRow } from '@svc/contract/json.ts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTask } from '../../../../change/use-change.ts';
import { ActionButton } from '../../../../components/buttons.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { TimeText } from '../../../../components/display.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { QueryView } from '../../../../components/query-view.tsx';
import { BoldText, Hint, Mono, SmallButton } from '../../../../components/text.tsx';
import { useToast } from '../../../../components/toasts.tsx';
import { useTable } from '../use-table.ts';
import { CellValue } from './cell-editor.tsx';
import { formatCell, sqlNull } from './cell-value.ts';
import { fetchNames, restoreRow, rowsAt } from './rows-api.ts';

interface Version {
  version: string;
  action: string;
  at: string;
  by: string | null;
  before: RawRow | null;
  row: RawRow | null;
}

const perPage = 20;

function useVersions(of: 'trash' | { id: string; below: 'history' }, page: number) {
  const { path, tenant, app } = useTable();
  return useQuery({
    queryKey: ['rows.versions', path, of, page],
    queryFn: async ({ signal }) => {
      const query = Object.entries({ page: String(page), per_page: String(perPage) });
      const { text } = await rowsAt(path).call({ of, query, signal });
      const answer = jsonMembers(text);
      const versions = jsonItems(answer.get('data') ?? '[]').map(readVersion);
      const ids = [...new Set(versions.flatMap(({ by }) => by ?? []))];
      const people = `/data/${tenant.slug}/${app.slug}/_people`;
      // A name that cannot be read is no reason to show no history.
      const names = await fetchNames(people, ids, signal).catch(() => new Map<string, string>());
      return { versions, names, hasMore: answer.get('has_more') === 'true' };
    },
  });
}

function readVersion(text: string): Version {
  const members = jsonMembers(text);
  const plain = (name: string) => JSON.parse(members.get(name) ?? 'null') as string | null;
  const row = (name: string) => {
    const json = members.get(name) ?? sqlNull;
    return json === sqlNull ? null : jsonMembers(json);
  };
  return {
    version: plain('version') ?? '',
    action: plain('action') ?? '',
    at: plain('at') ?? '',
    by: plain('by'),
    before: row('before'),
    row: row('row'),
  };
}

const actionNames: Readonly<Record<string, string>> = {
  insert: 'Inserted',
  update: 'Changed',
  delete: 'Deleted',
};

/** The changes of a row, newest first. */
export function HistoryDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { table } = useTable();
  const [page, setPage] = useState(1);
  const name = formatCell('text', id);
  const answer = useVersions({ id: name, below: 'history' }, page);
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
  const { run, isBusy, problem } = useTask();
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
        <ProblemAlert error={problem} />
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
                    {versions.map(({ version, at, by, before }) => {
                      const id = before?.get('id') ?? '';
                      return (
                        <Table.Tr key={version}>
                          <Table.Td>
                            <Mono>{formatCell('text', id)}</Mono> {shortText(before)}
                          </Table.Td>
                          <Table.Td>
                            <TimeText value={at} />
                            {by !== null && ` by ${names.get(by) ?? by}`}
                          </Table.Td>
                          <Table.Td>
                            <ActionButton
                              why={whyNotWrite ?? (isBusy ? 'A row is being restored.' : null)}
                              size="compact-sm"
                              aria-label={`Restore row ${formatCell('text', id)}`}
                              onClick={() => void restore(id)}
                            >
                              Restore
                            </ActionButton>
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
