import { Checkbox, Group, NativeSelect, TextInput } from '@mantine/core';
import { describeColumnType } from '@svc/contract/columns.ts';
import type { ReactNode } from 'react';
import type { Fields } from '../../../components/use-form.ts';
import { CheckFields } from './check-fields.tsx';
import { type ColumnDraft, hasArgs, shownType, typeChoices } from './column-draft.ts';

export function ColumnFields({
  column,
  label,
  end,
}: {
  column: Fields<ColumnDraft>;
  label: string;
  end?: ReactNode;
}) {
  const { values, set, field, checkbox } = column;
  const type = shownType(values);
  const defaultFunction = describeColumnType(type).defaultFunction;
  return (
    <Group gap="sm" align="flex-start" role="group" aria-label={label}>
      <TextInput {...field('name')} autoComplete="off" spellCheck={false} w={{ base: '100%', xs: 180 }} />
      <NativeSelect {...field('type')} data={[...typeChoices]} w={{ base: '100%', xs: 140 }} />
      {hasArgs(values.type) && (
        <TextInput
          {...field('args')}
          label={values.type === 'enum' ? 'Values' : 'Digits, after the point'}
          placeholder={values.type === 'enum' ? 'open,paid' : '12,2'}
          autoComplete="off"
          spellCheck={false}
          w={{ base: '100%', xs: 200 }}
        />
      )}
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
      <CheckFields type={type} column={column} />
      {end}
    </Group>
  );
}
