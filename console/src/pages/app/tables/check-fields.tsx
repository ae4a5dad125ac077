import { Group, TextInput } from '@mantine/core';
import { type CheckName, checksOf } from '@svc/contract/column-checks.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import type { Fields } from '../../../components/use-form.ts';
import type { ChecksDraft } from './column-draft.ts';

const labels: Record<CheckName, string> = {
  min: 'Minimum',
  max: 'Maximum',
  min_length: 'Minimum length',
  max_length: 'Maximum length',
  pattern: 'Pattern',
};

/** Only the checks that fit the type; an empty field is no check. */
export function CheckFields({
  type,
  column,
  disabled = false,
}: {
  type: ColumnType;
  column: Pick<Fields<ChecksDraft>, 'field'>;
  disabled?: boolean;
}) {
  const names = checksOf(type);
  if (names.length === 0) return null;
  return (
    <Group gap="sm" align="flex-start">
      {names.map((name) => (
        <TextInput
          key={name}
          {...column.field(name)}
          label={labels[name]}
          disabled={disabled}
          inputMode={name === 'min_length' || name === 'max_length' ? 'numeric' : 'text'}
          placeholder={name === 'pattern' ? '^[a-z]+$' : undefined}
          autoComplete="off"
          spellCheck={false}
          w={{ base: '100%', xs: name === 'pattern' ? 220 : 140 }}
        />
      ))}
    </Group>
  );
}
