import { Group, NativeSelect, Stack } from '@mantine/core';
import { ProblemError } from '@svc/contract/client.ts';
import { useRef, useState } from 'react';
import { randomKey } from '../../../../api/client.ts';
import { BusyButton } from '../../../../components/buttons.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { Hint, SecondaryButton } from '../../../../components/text.tsx';
import { useToast } from '../../../../components/toasts.tsx';
import { type ColumnView, useTable } from '../use-table.ts';
import { ValueInput } from './cell-editor.tsx';
import { type Field, parseField } from './cell-value.ts';
import { insertRow } from './rows-api.ts';

export function InsertDialog({ onClose, onStored }: { onClose: () => void; onStored: () => void }) {
  const { table, path } = useTable();
  const showToast = useToast();
  const columns = [
    ...table.columns.filter(({ generated }) => !generated),
    ...table.columns.filter(({ name, generated }) => generated && name === 'id'),
  ];
  const [fields, setFields] = useState<ReadonlyMap<string, Field>>(
    () =>
      new Map(
        columns.map((column) => [column.name, { mode: fieldModes(column, table.owner_column)[0], text: '' }]),
      ),
  );
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const key = useRef(randomKey());

  function set(name: string, field: Field) {
    key.current = randomKey();
    setFields(new Map(fields).set(name, field));
  }
  async function insert() {
    const row = new Map<string, string>();
    const wrong = new Map<string, string>();
    for (const column of columns) {
      const field = fields.get(column.name);
      if (!field || field.mode === 'left_out') continue;
      const written = parseField(column, field);
      if (written.ok) row.set(column.name, written.json);
      else wrong.set(column.name, written.detail);
    }
    setFaults(wrong);
    if (wrong.size > 0) return;
    setBusy(true);
    setProblem(null);
    try {
      await insertRow(path, row, key.current);
      showToast('Row inserted.');
      onStored();
      onClose();
    } catch (error) {
      setProblem(error);
      setFaults(serverErrors(error));
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
            const modes = fieldModes(column, table.owner_column);
            return (
              field && (
                <Group key={column.name} gap="xs" align="flex-end" wrap="nowrap">
                  <div style={{ flex: 1, minWidth: 0 }}>
                    <ValueInput
                      type={column.type}
                      reference={column.ref}
                      column={column.name}
                      label={column.name}
                      description={column.ref === undefined ? column.type : `ref:${column.ref}`}
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
                      aria-label={`Kind of value for ${column.name}`}
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
          <Hint>
            The service fills in{' '}
            {table.columns
              .filter(({ generated }) => generated)
              .map(({ name }) => name)
              .join(', ')}
            .
          </Hint>
          <ProblemAlert error={problem} />
          <Group justify="flex-end">
            <SecondaryButton onClick={onClose}>Cancel</SecondaryButton>
            <BusyButton type="submit" loading={isBusy}>
              Insert row
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function fieldModes(
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
  if (name === ownerColumn) return 'you';
  return text === null ? 'automatic' : `default: ${text}`;
}

function serverErrors(error: unknown): ReadonlyMap<string, string> {
  const items = error instanceof ProblemError ? (error.problem.errors ?? []) : [];
  return new Map(items.flatMap(({ column, detail }) => (column ? [[column, detail] as const] : [])));
}
