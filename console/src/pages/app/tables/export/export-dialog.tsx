import { Alert, Button, Checkbox, Group, Radio, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { useTell } from '../../../../parts/told.tsx';
import { type GridQuery, listSearch, shownColumns } from '../data/grid-query.ts';
import { streamRows } from '../data/rows-api.ts';
import { Dialog } from '../dialog.tsx';
import { useTable } from '../use-table.ts';
import { collectRows } from './collect-rows.ts';
import { saveFile } from './save-file.ts';

/** All rows that the filter lets through, as they are at one instant, into a file. */
export function ExportDialog({ query, onClose }: { query: GridQuery; onClose: () => void }) {
  const { table, path } = useTable();
  const tell = useTell();
  const [format, setFormat] = useState<'csv' | 'jsonl'>('csv');
  const [which, setWhich] = useState<'shown' | 'all'>('all');
  const [isEscaped, setEscaped] = useState(false);
  const [rows, setRows] = useState(0);
  const [problem, setProblem] = useState<unknown>(null);
  const [isStopped, setStopped] = useState(false);
  const stop = useRef<AbortController | null>(null);
  const [isBusy, setBusy] = useState(false);
  const columns = which === 'all' ? table.columns : shownColumns(table.columns, query);

  async function run() {
    const controller = new AbortController();
    stop.current = controller;
    setProblem(null);
    setStopped(false);
    setRows(0);
    setBusy(true);
    try {
      // All columns go without saying: named one by one they might be too long for an address.
      const search = listSearch(query, which === 'all' ? null : columns.map(({ name }) => name));
      const stream = await streamRows(path, search, controller.signal);
      const formulas = isEscaped ? 'escaped' : 'as_they_are';
      let count = 0;
      const file = await collectRows(stream, { format, columns, formulas }, (sofar) => {
        count = sofar;
        setRows(sofar);
      });
      saveFile(file, `${table.name}.${format}`);
      tell(`${count.toLocaleString('en')} ${count === 1 ? 'row' : 'rows'} exported.`);
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
            ? 'All rows, as they are at one instant.'
            : 'All rows that the filter lets through, as they are at one instant.'}
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
            <Radio value="shown" label="Those shown" />
          </Group>
        </Radio.Group>
        {format === 'csv' && (
          <Checkbox
            label="Keep spreadsheets from running formulas"
            description="Texts that begin with = + - @ get a ' before them. Without it they are written as they are, and a spreadsheet may run them."
            checked={isEscaped}
            onChange={(event) => setEscaped(event.currentTarget.checked)}
          />
        )}
        {problem !== null && <ExportProblem error={problem} />}
        {isStopped && <Alert color="yellow">Stopped. No file was made.</Alert>}
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
              <Button variant="default" onClick={leave}>
                Cancel
              </Button>
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
      The stream broke off before its end. No file was made; try again.
    </Alert>
  ) : (
    <ProblemAlert error={error} />
  );
}
