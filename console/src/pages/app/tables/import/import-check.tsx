import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { listIndexes } from '@svc/contract/tables.ts';
import type { Conflict } from '@svc/sdk/rows.ts';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useEndpoint } from '../../../../api/use-endpoint.ts';
import { ActionButton } from '../../../../components/buttons.tsx';
import { DataTable } from '../../../../components/data-table.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { Loading } from '../../../../components/query-view.tsx';
import { useToast } from '../../../../components/toasts.tsx';
import { useTable } from '../use-table.ts';
import type { ImportSource } from './import-dialog.tsx';
import { defaultMapping, type ImportRecord, type Mapping, readImport } from './records.ts';
import { SampleTable } from './sample-table.tsx';
import { type ImportCount, RejectedLinesError, sendRecords } from './send-records.ts';

const sampleSize = 5;

export function ImportCheck({
  source,
  onBack,
  onClose,
  onStored,
}: {
  source: ImportSource;
  onBack: () => void;
  onClose: () => void;
  onStored: () => void;
}) {
  const { table, params, path } = useTable();
  const showToast = useToast();
  const indexes = useEndpoint(listIndexes, { params, query: { per_page: 50 } });
  const [changed, setMapping] = useState<Mapping | null>(null);
  const [known, setKnown] = useState('');
  const [resolution, setResolution] = useState<Conflict['resolution']>('merge');
  const [count, setCount] = useState<ImportCount | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const sample = useQuery({
    queryKey: ['import.sample', source.key],
    queryFn: () => firstRecords(source),
    gcTime: 0,
    retry: false,
  });
  if (sample.isError) {
    return (
      <Stack>
        <Alert color="red">The file cannot be read: it is not UTF-8 text.</Alert>
        <Group justify="flex-end">
          <Button onClick={onBack}>Choose another</Button>
        </Group>
      </Stack>
    );
  }
  if (!sample.data) return <Loading lines={5} />;
  const names = [...new Set(sample.data.flatMap(({ fields }) => [...fields.keys()]))];
  const mapping = changed ?? defaultMapping(names, table.columns);
  const isEmpty = sample.data.length === 0 || [...mapping.values()].every((target) => target === null);
  const unique = [
    'id',
    ...(indexes.data?.items ?? []).flatMap((index) => (index.unique ? [index.columns.join(',')] : [])),
  ];

  async function run() {
    const controller = new AbortController();
    stop.current = controller;
    setBusy(true);
    setFailure(null);
    setCount({ inserted: 0, updated: 0 });
    try {
      const total = await sendRecords(
        readImport(source.blob, source.format),
        { path, mapping, columns: table.columns, conflict: known ? { column: known, resolution } : null },
        { signal: controller.signal, onStored: setCount },
      );
      showToast(countText(total));
      onStored();
      onClose();
    } catch (error) {
      setFailure(error);
      onStored();
    } finally {
      setBusy(false);
    }
  }

  return (
    <Stack>
      <Text size="sm">
        {source.name}, {source.format === 'csv' ? 'CSV' : 'JSON lines'}. These are the first records as they
        would be stored.
      </Text>
      {sample.data.length === 0 ? (
        <Alert color="yellow">The file has no records.</Alert>
      ) : (
        <SampleTable records={sample.data} mapping={mapping} onMapping={setMapping} />
      )}
      <Group align="flex-end">
        <NativeSelect
          label="Existing rows"
          data={[
            { value: '', label: 'ignore: insert all records' },
            ...unique.map((columns) => ({
              value: columns,
              label: `match by ${columns.replaceAll(',', ', ')}`,
            })),
          ]}
          value={known}
          onChange={(event) => setKnown(event.currentTarget.value)}
        />
        {known !== '' && (
          <NativeSelect
            label="Matching rows"
            data={[
              { value: 'merge', label: 'update' },
              { value: 'ignore', label: 'keep unchanged' },
            ]}
            value={resolution}
            onChange={(event) => setResolution(event.currentTarget.value === 'ignore' ? 'ignore' : 'merge')}
          />
        )}
      </Group>
      {failure !== null && <ImportFailure error={failure} />}
      {count && (
        <Text size="sm" role="status">
          {countText(count)}
        </Text>
      )}
      <Group justify="flex-end">
        <ActionButton why={isBusy ? 'The import is running. Stop it first.' : null} onClick={onBack}>
          Choose another
        </ActionButton>
        {isBusy ? (
          <Button color="red" variant="light" onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        ) : (
          <ActionButton
            variant="filled"
            why={isEmpty ? 'Nothing to import: no record, or no field is mapped to a column.' : null}
            onClick={() => void run()}
          >
            Import
          </ActionButton>
        )}
      </Group>
    </Stack>
  );
}

async function firstRecords({ blob, format }: ImportSource): Promise<ImportRecord[]> {
  const records: ImportRecord[] = [];
  for await (const record of readImport(blob, format)) {
    if (records.push(record) === sampleSize) break;
  }
  return records;
}

function countText({ inserted, updated }: ImportCount): string {
  const stored = `${inserted.toLocaleString('en')} ${inserted === 1 ? 'row' : 'rows'} imported`;
  return updated === 0 ? `${stored}.` : `${stored}, ${updated.toLocaleString('en')} updated.`;
}

const errorsShownMax = 20;

function ImportFailure({ error }: { error: unknown }) {
  if (error instanceof DOMException && error.name === 'AbortError') {
    return (
      <Alert color="yellow">Stopped. Imported rows stay; the last batch may have been stored as well.</Alert>
    );
  }
  if (error instanceof TypeError && /encod|decod/i.test(error.message)) {
    return <Alert color="red">The file is not UTF-8 text.</Alert>;
  }
  if (!(error instanceof RejectedLinesError)) return <ProblemAlert error={error} />;
  const more = error.faults.length - errorsShownMax;
  return (
    <Alert color="red" title="Some lines were rejected" role="alert">
      <Stack gap="xs">
        <Text size="sm">Their batch is not stored, and later lines were not sent.</Text>
        <DataTable
          label="Rejected lines"
          minWidth={0}
          verticalSpacing={4}
          rows={error.faults.slice(0, errorsShownMax)}
          keyOf={({ line, column, detail }) => `${line} ${column} ${detail}`}
          columns={[
            { head: 'Line', cell: ({ line }) => line },
            { head: 'Column', cell: ({ column }) => column ?? '–' },
            { head: 'Error', cell: ({ detail }) => detail },
          ]}
        />
        {more > 0 && <Text size="sm">and {more} more</Text>}
        <ProblemAlert error={error.problem} />
      </Stack>
    </Alert>
  );
}
