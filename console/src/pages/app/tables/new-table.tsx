import { Button, Divider, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { type AccessPreset, accessPresets } from '@svc/contract/table-rules.ts';
import { createTable } from '@svc/contract/tables.ts';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { ActionButton } from '../../../components/buttons.tsx';
import { useFormFocus } from '../../../components/focus.ts';
import { FormElement, FormEnd, SubmitButton } from '../../../components/form-card.tsx';
import { SmallLink } from '../../../components/page-layout.tsx';
import { Heading, Hint, SecondaryButton, SubHeading } from '../../../components/text.tsx';
import { itemFields, useForm } from '../../../components/use-form.ts';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import {
  type ColumnDraft,
  canOwnRows,
  columnErrors,
  columnSpec,
  descriptionError,
  newDraft,
  tableNameError,
} from './column-draft.ts';
import { ColumnFields } from './column-fields.tsx';
import { presetLabels } from './rules-part.tsx';

interface TableDraft {
  name: string;
  description: string;
  columns: readonly ColumnDraft[];
  owner_column: string;
  /** Empty for the default. */
  access: AccessPreset | '';
}

function tableErrors({ name, description, columns }: TableDraft) {
  const ofColumns = columns.flatMap((column, index) => {
    const others = columns.slice(0, index).map((other) => other.name);
    return Object.entries(columnErrors(column, others)).map(([field, error]) => [
      `columns.${index}.${field}`,
      error,
    ]);
  });
  return {
    name: tableNameError(name),
    description: descriptionError(description),
    ...Object.fromEntries(ofColumns),
  };
}

const ownerColumns = (columns: readonly ColumnDraft[]) =>
  columns.filter((column) => column.name !== '' && canOwnRows(column));

export function NewTable() {
  const { app, params, why, paths } = useApp();
  const [, go] = useLocation();
  const ref = useFormFocus('new-table');
  const [record] = useState<TableDraft>(() => ({
    name: '',
    description: '',
    columns: [newDraft()],
    owner_column: '',
    access: '',
  }));
  const form = useForm(createTable, record, {
    title: 'Create the table',
    verb: 'Create table',
    done: 'Table created.',
    onDone: (table) => go(paths.table(table.name)),
    whyNot: () => why(createTable) ?? whyNotActive(app),
    errors: tableErrors,
    input: ({ columns, owner_column: owner, access, ...table }) => ({
      params,
      body: {
        ...table,
        ...(access !== '' && { access }),
        columns: columns.map(columnSpec),
        owner_column: ownerColumns(columns).some(({ name }) => name === owner) ? owner : null,
      },
    }),
  });
  const here = paths.app('tables');
  const { columns, description } = form.values;
  return (
    <FormElement ref={ref} form={form}>
      <Stack maw={900}>
        <SmallLink to={here}>All tables</SmallLink>
        <Heading>New table</Heading>
        <TextInput
          {...form.field('name')}
          description="Part of its URL in the data API: a-z, 0-9 and _."
          autoComplete="off"
          spellCheck={false}
          maw={420}
        />
        <Textarea
          {...form.field('description')}
          error={descriptionError(description) ?? form.error('description')}
          maw={640}
        />
        <Divider />
        <SubHeading>Columns</SubHeading>
        <Hint>The service adds and fills id, created_at and updated_at unless you define them yourself.</Hint>
        {columns.map((column, index) => (
          <ColumnFields
            key={column.key}
            column={itemFields(form, 'columns', index)}
            label={`Column ${index + 1}`}
            end={
              <Button
                variant="subtle"
                color="gray"
                mt={{ base: 0, xs: 24 }}
                onClick={() => form.set({ columns: columns.toSpliced(index, 1) })}
                aria-label={`Remove column ${index + 1}${column.name && `, ${column.name}`}`}
              >
                <IconTrash size={16} aria-hidden />
              </Button>
            }
          />
        ))}
        <Group>
          <ActionButton icon={IconPlus} onClick={() => form.set({ columns: [...columns, newDraft()] })}>
            Add a column
          </ActionButton>
        </Group>
        <NativeSelect
          {...form.field('owner_column')}
          label="Rows belong to"
          description="A column of user ids. By default people see and change only their own rows."
          data={[
            { value: '', label: 'the app: no owner column' },
            ...ownerColumns(columns).map(({ name }) => ({ value: name, label: `the user in ${name}` })),
          ]}
          maw={420}
        />
        <NativeSelect
          {...form.field('access')}
          label="Rules"
          description="Who of the app's users may do what with rows. The view Access of the table changes it later."
          data={[
            { value: '', label: 'default: own rows with an owner column, otherwise everybody reads' },
            ...accessPresets.map((value) => ({ value, label: presetLabels[value] })),
          ]}
          maw={640}
        />
        <FormEnd form={form}>
          <SubmitButton form={form}>Preview table</SubmitButton>
          <SecondaryButton onClick={() => go(here)}>Cancel</SecondaryButton>
        </FormEnd>
      </Stack>
    </FormElement>
  );
}
