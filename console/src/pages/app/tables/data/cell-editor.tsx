import { Button, Checkbox, Code, Group, Stack, Text } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { CopyButtonFor } from '../../../../parts/copy-button-for.tsx';
import type { ColumnView } from '../use-table.ts';
import { cellText, type Field, fieldValue, sqlNull } from './cell-value.ts';
import { ValueInput } from './value-input.tsx';

/** One cell being written. Enter keeps it, Shift and Enter begins a new line, Escape leaves it as it was. */
export function CellEditor({
  column,
  value,
  onKeep,
  onCancel,
}: {
  column: ColumnView;
  value: string;
  onKeep: (json: string) => void;
  onCancel: () => void;
}) {
  const [field, setField] = useState<Field>({
    mode: value === sqlNull ? 'null' : 'value',
    text: cellText(column.type, value),
  });
  const [error, setError] = useState<string | null>(null);

  function keep() {
    const written = fieldValue(column, field);
    if (written.ok) onKeep(written.json);
    else setError(written.detail);
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || event.shiftKey || event.target instanceof HTMLButtonElement) return;
    event.preventDefault();
    keep();
  }

  return (
    <Stack gap="xs" onKeyDown={onKeyDown}>
      <ValueInput
        type={column.type}
        label={column.name}
        description={column.type}
        text={field.text}
        onText={(text) => {
          setError(null);
          setField({ mode: 'value', text });
        }}
        placeholder={field.mode === 'null' ? 'null' : undefined}
        error={error}
      />
      {column.nullable && (
        <Checkbox
          label="Null: no value"
          checked={field.mode === 'null'}
          onChange={(event) => setField({ mode: event.currentTarget.checked ? 'null' : 'value', text: '' })}
        />
      )}
      <Group gap="xs">
        <Button size="compact-sm" onClick={keep}>
          Keep
        </Button>
        <Button size="compact-sm" variant="default" onClick={onCancel}>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
}

/** The whole of a value that is not to be changed, and why. */
export function CellReader({ column, value, why }: { column: ColumnView; value: string; why: string }) {
  const text = value === sqlNull ? 'null' : cellText(column.type, value);
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {column.name} <CopyButtonFor value={text} label={`the value of ${column.name}`} />
      </Text>
      <Code
        block
        style={{ whiteSpace: 'pre-wrap', maxHeight: 240, overflow: 'auto' }}
        tabIndex={0}
        data-autofocus
      >
        {text}
      </Code>
      <Text size="sm">{why}</Text>
    </Stack>
  );
}
