import { Alert, Button, Checkbox, Group, Radio, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { Dialog } from '../../../../components/dialog.tsx';
import { saveFile } from '../../../../components/download.ts';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { SecondaryButton } from '../../../../components/text.tsx';
import { useToast } from '../../../../components/toasts.tsx';
import { type GridQuery, listSearch, visibleColumns, withoutRelated } from '../data/grid-query.ts';
import { streamRows } from '../data/rows-api.ts';
import { useTable } from '../use-table.ts';
import { collectRows } from './export-rows.ts';

export function ExportDialog({ query, onClose }: { query: GridQuery; onClose: () => void }) {
  const { table, path } = useTable();
  const showToast = useToast();
  const [format, setFormat] = useState<'csv' | 'jsonl'>('csv');
  const [which, setWhich] = useState<'shown' | 'all'>('all');
  const [isEscaped, setEscaped] = useState(false);
  const [rows, setRows] = useState(0);
  const [problem, setProblem] = useState<unknown>(null);
  const [isStopped, setStopped] = useState(false);
  const stop = useRef<AbortController | null>(null);
  const [isBusy, setBusy] = useState(false);
  const columns = which === 'all' ? table.columns : visibleColumns(table.columns, query);

  async function run() {
    const controller = new AbortController();
    stop.current = controller;
    setProblem(null);
    setStopped(false);
    setRows(0);
    setBusy(true);
    try {
      // All columns are requested by naming none: a long list might exceed the URL limit.
      const search = listSearch(
        withoutRelated(query),
        which === 'all' ? null : columns.map(({ name }) => name),
      );
      const stream = await streamRows(path, search, controller.signal);
      const formulas = isEscaped ? 'escaped' : 'as_they_are';
      let count = 0;
      const file = await collectRows(stream, { format, columns, formulas }, (total) => {
        count = total;
        setRows(total);
      });
      saveFile(file, `${table.name}.${format}`);
      showToast(`${count.toLocaleString('en')} ${count === 1 ? 'row' : 'rows'} exported.`);
      onClose();
    } catch (error) {
      if (controller.signal.aborted) setStopped(true);
      else setProblem(error);
    } finally {
      setBusy(false);
    }
  }
  function leave() {
    stop.current?.abort();
    onClose();
  }

  return (
    <Dialog onClose={leave} title={`Export rows of ${table.name}`} isBusy={isBusy}>
      <Stack>
        <Text size="sm">
          {query.filters.length === 0
            ? 'All rows, as one consistent snapshot.'
            : 'All rows that match the filter, as one consistent snapshot.'}
        </Text>
        <Radio.Group
          label="Format"
          value={format}
          onChange={(next) => setFormat(next === 'jsonl' ? 'jsonl' : 'csv')}
        >
          <Group mt="xs">
            <Radio value="csv" label="CSV" />
            <Radio value="jsonl" label="JSON lines" />
          </Group>
        </Radio.Group>
        <Radio.Group
          label="Columns"
          value={which}
          onChange={(next) => setWhich(next === 'shown' ? 'shown' : 'all')}
        >
          <Group mt="xs">
            <Radio value="all" label="All" />
            <Radio value="shown" label="Visible columns" />
          </Group>
        </Radio.Group>
        {format === 'csv' && (
          <Checkbox
            label="Escape formulas for spreadsheets"
            description="Texts that start with = + - @ get a leading '. Without it a spreadsheet may run them as formulas."
            checked={isEscaped}
            onChange={(event) => setEscaped(event.currentTarget.checked)}
          />
        )}
        {problem !== null && <ExportProblem error={problem} />}
        {isStopped && <Alert color="yellow">Stopped. No file was saved.</Alert>}
        {isBusy && (
          <Text size="sm" role="status">
            {rows.toLocaleString('en')} rows so far
          </Text>
        )}
        <Group justify="flex-end">
          {isBusy ? (
            <Button color="red" variant="light" onClick={() => stop.current?.abort()}>
              Stop
            </Button>
          ) : (
            <>
              <SecondaryButton onClick={leave}>Cancel</SecondaryButton>
              <Button onClick={() => void run()}>Export</Button>
            </>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

function ExportProblem({ error }: { error: unknown }) {
  return error instanceof TypeError ? (
    <Alert color="red" role="alert">
      The download was interrupted. No file was saved; try again.
    </Alert>
  ) : (
    <ProblemAlert error={error} />
  );
}
