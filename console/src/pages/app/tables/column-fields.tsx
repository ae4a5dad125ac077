import { Checkbox, Group, NativeSelect, TextInput } from '@mantine/core';
import { columnTypes, describeColumnType } from '@svc/contract/columns.ts';
import type { ReactNode } from 'react';
import type { Fields } from '../../../components/use-form.ts';
import type { ColumnDraft } from './column-draft.ts';

export function ColumnFields({
  column: { values, set, field, checkbox },
  label,
  end,
}: {
  column: Fields<ColumnDraft>;
  label: string;
  end?: ReactNode;
}) {
  const defaultFunction = describeColumnType(values.type).defaultFunction;
  return (
    <Group gap="sm" align="flex-start" role="group" aria-label={label}>
      <TextInput {...field('name')} autoComplete="off" spellCheck={false} w={{ base: '100%', xs: 180 }} />
      <NativeSelect {...field('type')} data={[...columnTypes]} w={{ base: '100%', xs: 140 }} />
      <Checkbox {...checkbox('nullable')} label="Nullable" mt={{ base: 0, xs: 32 }} />
      <Checkbox
        {...checkbox('hasDefault')}
        label="Has a default"
        onChange={(event) =>
          set({
            hasDefault: event.currentTarget.checked,
            default: values.default || (defaultFunction ?? ''),
          })
        }
        mt={{ base: 0, xs: 32 }}
      />
      {values.hasDefault && (
        <TextInput
          {...field('default')}
          placeholder={defaultFunction}
          autoComplete="off"
          w={{ base: '100%', xs: 200 }}
        />
      )}
      {end}
    </Group>
  );
}
