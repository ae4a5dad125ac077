import { NativeSelect, Textarea, TextInput, type TextInputProps } from '@mantine/core';
import type { ColumnType } from '@svc/contract/columns.ts';

const placeholders: Partial<Record<ColumnType, string>> = {
  timestamptz: '2026-01-31T09:30:00Z',
  uuid: '0190…',
  jsonb: '{"size": 3}',
};

/** Where a value of a type is written. Numbers are text here as well: no digit is lost. */
export function ValueInput({
  type,
  text,
  onText,
  placeholder,
  ...rest
}: {
  type: ColumnType;
  text: string;
  onText: (text: string) => void;
  placeholder?: string | undefined;
} & Pick<TextInputProps, 'label' | 'aria-label' | 'description' | 'error'>) {
  const hint = placeholder ?? placeholders[type];
  if (type === 'bool') {
    return (
      <NativeSelect
        {...rest}
        data={[{ value: '', label: placeholder ?? '–' }, 'true', 'false']}
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        data-autofocus
      />
    );
  }
  if (type === 'text' || type === 'jsonb') {
    return (
      <Textarea
        {...rest}
        value={text}
        placeholder={hint}
        onChange={(event) => onText(event.currentTarget.value)}
        autosize
        minRows={1}
        maxRows={12}
        classNames={type === 'jsonb' ? { input: 'mono' } : {}}
        spellCheck={type === 'text'}
        data-autofocus
      />
    );
  }
  const isNumber = type === 'int' || type === 'bigint' || type === 'float';
  return (
    <TextInput
      {...rest}
      value={text}
      placeholder={hint}
      onChange={(event) => onText(event.currentTarget.value)}
      inputMode={isNumber ? (type === 'float' ? 'decimal' : 'numeric') : 'text'}
      autoComplete="off"
      spellCheck={false}
      data-autofocus
    />
  );
}
