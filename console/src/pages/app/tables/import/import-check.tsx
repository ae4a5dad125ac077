import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { listIndexes } from '@svc/contract/tables.ts';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useAnswer } from '../../../../api/use-answer.ts';
import { Placeholder } from '../../../../parts/answer-view.tsx';
import { MayButton } from '../../../../parts/may-button.tsx';
import { useTell } from '../../../../parts/told.tsx';
import type { Resolution } from '../data/rows-api.ts';
import { useTable } from '../use-table.ts';
import type { ImportSource } from './import-dialog.tsx';
import { ImportFailure } from './import-failure.tsx';
import { type Mapping, mappingFor } from './row-line.ts';
import { SampleTable } from './sample-table.tsx';
import { type ImportCount, sendRecords } from './send-records.ts';
import { type SourceRecord, sourceRecords } from './source-records.ts';

const sampleSize = 5;

/** The first records as they would be stored, which field goes where, and the import itself. */
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
  const tell = useTell();
  const indexes = useAnswer(listIndexes, { params, query: { per_page: 50 } });
  const [changed, setMapping] = useState<Mapping | null>(null);
  const [known, setKnown] = useState('');
  const [resolution, setResolution] = useState<Resolution>('merge-duplicates');
  const [count, setCount] = useState<ImportCount | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const stop = useRef<AbortController | null>(null);
  // Whoever closes the window does not want the rest.
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
        <Alert color="red">The file can not be read: it is not a text in UTF-8.</Alert>
        <Group justify="flex-end">
          <Button onClick={onBack}>Choose another</Button>
        </Group>
      </Stack>
    );
  }
  if (!sample.data) return <Placeholder lines={5} />;
  const names = [...new Set(sample.data.flatMap(({ fields }) => [...fields.keys()]))];
  const mapping = changed ?? mappingFor(names, table.columns);
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
        sourceRecords(source.blob, source.format),
        { path, mapping, columns: table.columns, upsert: known ? { on: known, resolution } : null },
        { signal: controller.signal, onStored: setCount },
      );
      tell(countText(total));
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
        {source.name}, {source.format === 'csv' ? 'CSV' : 'JSON lines'}. These are its first records as they
        would be stored.
      </Text>
      {sample.data.length === 0 ? (
        <Alert color="yellow">There is no record in it.</Alert>
      ) : (
        <SampleTable records={sample.data} mapping={mapping} onMapping={setMapping} />
      )}
      <Group align="flex-end">
        <NativeSelect
          label="Rows that are there already"
          data={[
            { value: '', label: 'are not looked for: all records are new' },
            ...unique.map((columns) => ({
              value: columns,
              label: `are known by ${columns.replaceAll(',', ', ')}`,
            })),
          ]}
          value={known}
          onChange={(event) => setKnown(event.currentTarget.value)}
        />
        {known !== '' && (
          <NativeSelect
            label="and then"
            data={[
              { value: 'merge-duplicates', label: 'are changed to what the record says' },
              { value: 'ignore-duplicates', label: 'stay as they are' },
            ]}
            value={resolution}
            onChange={(event) =>
              setResolution(
                event.currentTarget.value === 'ignore-duplicates' ? 'ignore-duplicates' : 'merge-duplicates',
              )
            }
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
        <MayButton
          variant="default"
          why={isBusy ? 'Records are being stored; stop it first.' : null}
          onClick={onBack}
        >
          Choose another
        </MayButton>
        {isBusy ? (
          <Button color="red" variant="light" onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        ) : (
          <MayButton
            why={isEmpty ? 'There is nothing to store: no record, or no field that goes to a column.' : null}
            onClick={() => void run()}
          >
            Import
          </MayButton>
        )}
      </Group>
    </Stack>
  );
}

async function firstRecords({ blob, format }: ImportSource): Promise<SourceRecord[]> {
  const records: SourceRecord[] = [];
  for await (const record of sourceRecords(blob, format)) {
    if (records.push(record) === sampleSize) break;
  }
  return records;
}

function countText({ inserted, updated }: ImportCount): string {
  const stored = `${inserted.toLocaleString('en')} ${inserted === 1 ? 'row' : 'rows'} stored`;
  return updated === 0 ? `${stored}.` : `${stored}, ${updated.toLocaleString('en')} changed.`;
}
