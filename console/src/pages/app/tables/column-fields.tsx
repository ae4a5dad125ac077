import { Checkbox, Group, NativeSelect, TextInput } from '@mantine/core';
import { describeColumnType, tablesPerAppMax } from '@svc/contract/columns.ts';
import { listTables } from '@svc/contract/tables.ts';
import type { ReactNode } from 'react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import type { Fields } from '../../../components/use-form.ts';
import { useApp } from '../use-app.tsx';
import { CheckFields } from './check-fields.tsx';
import { type ColumnDraft, hasArgs, isReference, typeChoices, typeOrText } from './column-draft.ts';

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
  const type = typeOrText(values);
  const defaultFunction = describeColumnType(type).defaultFunction;
  return (
    <Group gap="sm" align="flex-start" role="group" aria-label={label}>
      <TextInput {...field('name')} autoComplete="off" spellCheck={false} w={{ base: '100%', xs: 180 }} />
      <NativeSelect {...field('type')} data={[...typeChoices]} w={{ base: '100%', xs: 140 }} />
      {hasArgs(values.type) && (
        <TextInput
          {...field('args')}
          label={values.type === 'enum' ? 'Values' : 'Digits, decimal places'}
          placeholder={values.type === 'enum' ? 'open,paid' : '12,2'}
          autoComplete="off"
          spellCheck={false}
          w={{ base: '100%', xs: 200 }}
        />
      )}
      {isReference(values.type) && <ReferenceFields column={column} />}
      <Checkbox {...checkbox('nullable')} label="Nullable" mt={{ base: 0, xs: 32 }} />
      {!isReference(values.type) && (
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
      )}
      {values.hasDefault && !isReference(values.type) && (
        <TextInput
          {...field('default')}
          placeholder={defaultFunction}
          autoComplete="off"
          w={{ base: '100%', xs: 200 }}
        />
      )}
      {!isReference(values.type) && <CheckFields type={type} column={column} />}
      {end}
    </Group>
  );
}

const deleteLabels = {
  restrict: 'keep it: refuse the deletion',
  cascade: 'delete this row too',
  set_null: 'set this column to null',
} as const;

/** The table that a column refers to, and what happens when the row there is deleted. */
function ReferenceFields({ column }: { column: Fields<ColumnDraft> }) {
  const { params } = useApp();
  const answer = useEndpoint(listTables, { params, query: { per_page: tablesPerAppMax } });
  const names = answer.data?.items.map(({ name }) => name) ?? [];
  const { field, values } = column;
  const known = values.args === '' || names.includes(values.args) ? names : [values.args, ...names];
  return (
    <>
      <NativeSelect
        {...field('args')}
        label="Table"
        data={[{ value: '', label: 'Choose a table' }, ...known]}
        w={{ base: '100%', xs: 180 }}
      />
      <NativeSelect
        {...field('on_delete')}
        label="When its row is deleted"
        data={Object.entries(deleteLabels).map(([value, label]) => ({ value, label }))}
        w={{ base: '100%', xs: 240 }}
      />
    </>
  );
}
