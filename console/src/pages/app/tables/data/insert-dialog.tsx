import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { ProblemError } from '@svc/contract/client.ts';
import { useRef, useState } from 'react';
import { newKey } from '../../../../api/new-key.ts';
import { BusyButton } from '../../../../parts/busy-button.tsx';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { useTell } from '../../../../parts/told.tsx';
import { Dialog } from '../dialog.tsx';
import { type ColumnView, useTable } from '../use-table.ts';
import { type Field, fieldValue } from './cell-value.ts';
import { insertRow } from './rows-api.ts';
import { ValueInput } from './value-input.tsx';

/** A form made from the columns. What is left out gets its default. */
export function InsertDialog({ onClose, onStored }: { onClose: () => void; onStored: () => void }) {
  const { table, path } = useTable();
  const tell = useTell();
  // An id that the service makes may be given, but seldom is: it comes last.
  const columns = [
    ...table.columns.filter(({ generated }) => !generated),
    ...table.columns.filter(({ name, generated }) => generated && name === 'id'),
  ];
  const [fields, setFields] = useState<ReadonlyMap<string, Field>>(
    () =>
      new Map(
        columns.map((column) => [column.name, { mode: modesOf(column, table.owner_column)[0], text: '' }]),
      ),
  );
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const key = useRef(newKey());

  function set(name: string, field: Field) {
    key.current = newKey();
    setFields(new Map(fields).set(name, field));
  }
  async function insert() {
    const row = new Map<string, string>();
    const wrong = new Map<string, string>();
    for (const column of columns) {
      const field = fields.get(column.name);
      if (!field || field.mode === 'left_out') continue;
      const written = fieldValue(column, field);
      if (written.ok) row.set(column.name, written.json);
      else wrong.set(column.name, written.detail);
    }
    setFaults(wrong);
    if (wrong.size > 0) return;
    setBusy(true);
    setProblem(null);
    try {
      await insertRow(path, row, key.current);
      tell('The row is there.');
      onStored();
      onClose();
    } catch (error) {
      setProblem(error);
      setFaults(columnFaults(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <Dialog onClose={onClose} title={`Insert a row into ${table.name}`} size="lg">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) void insert();
        }}
      >
        <Stack>
          {columns.map((column) => {
            const field = fields.get(column.name);
            const modes = modesOf(column, table.owner_column);
            return (
              field && (
                <Group key={column.name} gap="xs" align="flex-end" wrap="nowrap">
                  <div style={{ flex: 1, minWidth: 0 }}>
                    <ValueInput
                      type={column.type}
                      label={column.name}
                      description={column.type}
                      text={field.text}
                      onText={(text) => set(column.name, { mode: 'value', text })}
                      placeholder={
                        field.mode === 'value' ? undefined : modeText(field.mode, column, table.owner_column)
                      }
                      error={faults.get(column.name)}
                    />
                  </div>
                  {modes.length > 1 && (
                    <NativeSelect
                      aria-label={`How ${column.name} is given`}
                      data={modes.map((mode) => ({
                        value: mode,
                        label: modeText(mode, column, table.owner_column),
                      }))}
                      value={field.mode}
                      onChange={(event) => {
                        const mode = modes.find((each) => each === event.currentTarget.value);
                        if (mode) set(column.name, { mode, text: mode === 'value' ? field.text : '' });
                      }}
                      w={150}
                      style={{ flexShrink: 0 }}
                    />
                  )}
                </Group>
              )
            );
          })}
          <Text size="sm" c="dimmed">
            The service fills in{' '}
            {table.columns
              .filter(({ generated }) => generated)
              .map(({ name }) => name)
              .join(', ')}
            .
          </Text>
          {problem !== null && <ProblemAlert error={problem} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <BusyButton type="submit" loading={isBusy}>
              Insert row
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** What can be said of a column, what is likeliest first. */
function modesOf(
  { name, nullable, default: text, generated }: ColumnView,
  ownerColumn: string | null,
): [Field['mode'], ...Field['mode'][]] {
  const isFilled = text !== null || generated || name === ownerColumn;
  if (isFilled) return nullable ? ['left_out', 'value', 'null'] : ['left_out', 'value'];
  return nullable ? ['null', 'value'] : ['value'];
}

function modeText(
  mode: Field['mode'],
  { name, default: text }: ColumnView,
  ownerColumn: string | null,
): string {
  if (mode === 'null') return 'null';
  if (mode === 'value') return 'a value';
  if (name === ownerColumn) return 'yourself';
  return text === null ? 'automatic' : `default: ${text}`;
}

function columnFaults(error: unknown): ReadonlyMap<string, string> {
  const items = error instanceof ProblemError ? (error.problem.errors ?? []) : [];
  return new Map(items.flatMap(({ column, detail }) => (column ? [[column, detail] as const] : [])));
}
