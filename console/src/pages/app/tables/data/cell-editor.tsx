import {
  Button,
  Checkbox,
  Code,
  Group,
  NativeSelect,
  Stack,
  Text,
  Textarea,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { enumValues } from '@svc/contract/column-families.ts';
import { type ColumnType, describeColumnType, isArrayType } from '@svc/contract/columns.ts';
import { isFileType } from '@svc/contract/file-type.ts';
import { type KeyboardEvent, useState } from 'react';
import { CopyIconButton } from '../../../../components/buttons.tsx';
import { BoldText, SmallButton } from '../../../../components/text.tsx';
import type { ColumnView } from '../use-table.ts';
import { type Field, formatCell, parseField, sqlNull } from './cell-value.ts';
import { FileField } from './file-field.tsx';
import { ReferenceInput } from './references.tsx';

export function CellEditor({
  column,
  value,
  onApply,
  onCancel,
}: {
  column: ColumnView;
  value: string;
  onApply: (json: string) => void;
  onCancel: () => void;
}) {
  const [field, setField] = useState<Field>({
    mode: value === sqlNull ? 'null' : 'value',
    text: formatCell(column.type, value),
  });
  const [error, setError] = useState<string | null>(null);

  function apply() {
    const written = parseField(column, field);
    if (written.ok) onApply(written.json);
    else setError(written.detail);
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || event.shiftKey || event.target instanceof HTMLButtonElement) return;
    event.preventDefault();
    apply();
  }

  return (
    <Stack gap="xs" onKeyDown={onKeyDown}>
      <ValueInput
        type={column.type}
        reference={column.ref}
        column={column.name}
        label={column.name}
        description={column.ref === undefined ? column.type : `ref:${column.ref}`}
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
          label="Null"
          checked={field.mode === 'null'}
          onChange={(event) => setField({ mode: event.currentTarget.checked ? 'null' : 'value', text: '' })}
        />
      )}
      <Group gap="xs">
        <Button size="compact-sm" onClick={apply}>
          Apply
        </Button>
        <SmallButton onClick={onCancel}>Cancel</SmallButton>
      </Group>
    </Stack>
  );
}

export function CellReader({ column, value, why }: { column: ColumnView; value: string; why: string }) {
  const text = value === sqlNull ? 'null' : formatCell(column.type, value);
  return (
    <Stack gap="xs">
      <BoldText>
        {column.name} <CopyIconButton value={text} label={`the value of ${column.name}`} />
      </BoldText>
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

function examplePlaceholder(type: ColumnType): string | undefined {
  const { json, example } = describeColumnType(type);
  if (json === 'json' || isArrayType(type)) return JSON.stringify(example);
  return ['token', 'timestamp', 'decimal'].includes(json) ? String(example) : undefined;
}

/** Numbers are edited as text, so that no digit is lost. */
export function ValueInput({
  type,
  reference,
  column,
  text,
  onText,
  placeholder,
  ...rest
}: {
  type: ColumnType;
  /** The table that the value refers to. */
  reference?: string | undefined;
  column: string;
  text: string;
  onText: (text: string) => void;
  placeholder?: string | undefined;
} & Pick<TextInputProps, 'label' | 'aria-label' | 'description' | 'error'>) {
  if (reference !== undefined)
    return (
      <ReferenceInput {...rest} table={reference} text={text} onText={onText} placeholder={placeholder} />
    );
  if (isFileType(type))
    return <FileField {...rest} type={type} column={column} text={text} onText={onText} />;
  const hint = placeholder ?? examplePlaceholder(type);
  const { json } = describeColumnType(type);
  const values = json === 'boolean' ? ['true', 'false'] : enumValues(type);
  if (values) {
    return (
      <NativeSelect
        {...rest}
        data={[{ value: '', label: placeholder ?? '–' }, ...values]}
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        data-autofocus
      />
    );
  }
  const isJson = json === 'json' || isArrayType(type);
  if (json === 'string' || isJson) {
    return (
      <Textarea
        {...rest}
        value={text}
        placeholder={hint}
        onChange={(event) => onText(event.currentTarget.value)}
        minRows={1}
        maxRows={12}
        classNames={isJson ? { input: 'mono' } : {}}
        spellCheck={json === 'string'}
        data-autofocus
      />
    );
  }
  const isDecimal = json === 'decimal' || type === 'float';
  const isNumber = isDecimal || json === 'number' || json === 'integer';
  return (
    <TextInput
      {...rest}
      value={text}
      placeholder={hint}
      onChange={(event) => onText(event.currentTarget.value)}
      inputMode={isNumber ? (isDecimal ? 'decimal' : 'numeric') : 'text'}
      autoComplete="off"
      spellCheck={false}
      data-autofocus
    />
  );
}

const cellCharsMax = 200;

export function CellValue({ type, value }: { type: ColumnType; value: string }) {
  if (value === sqlNull) return <em className="grid-nothing">null</em>;
  const text = formatCell(type, value);
  if (text === '') return <em className="grid-nothing">empty text</em>;
  return <>{text.length > cellCharsMax ? `${text.slice(0, cellCharsMax)}…` : text}</>;
}

export function cellClass(type: ColumnType): string {
  const { json } = describeColumnType(type);
  if (json === 'number' || json === 'integer' || json === 'decimal') return 'grid-number';
  return type === 'uuid' ? 'grid-uuid' : '';
}
