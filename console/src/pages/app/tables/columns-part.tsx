import { Badge, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import type { ColumnChecks } from '@svc/contract/column-checks.ts';
import { refTarget } from '@svc/contract/column-families.ts';
import { parseColumnType, typeWithChecks } from '@svc/contract/column-spec.ts';
import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import { addColumn, dropColumn, updateColumn } from '@svc/contract/tables.ts';
import { typeChangeProblem } from '@svc/contract/type-changes.ts';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useChange } from '../../../change/use-change.ts';
import { ActionButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { changedFields, useForm } from '../../../components/use-form.ts';
import { CheckFields } from './check-fields.tsx';
import {
  checkErrors,
  checksDraft,
  columnErrors,
  columnSpec,
  defaultError,
  draftChecks,
  nameError,
  newDraft,
} from './column-draft.ts';
import { ColumnFields } from './column-fields.tsx';
import { type ColumnView, useTable } from './use-table.ts';

export function ColumnsPart() {
  const { table, params, whyNotAlter } = useTable();
  const [opened, setOpened] = useState<ColumnView | 'new' | null>(null);
  const drop = useChange(dropColumn, {
    title: 'Drop the column',
    verb: 'Drop column',
    done: 'Column dropped.',
  });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Heading order={3}>Columns</Heading>
        <ActionButton why={whyNotAlter(addColumn)} icon={IconPlus} onClick={() => setOpened('new')}>
          Add a column
        </ActionButton>
      </Group>
      <ProblemAlert error={drop.problem} />
      <DataTable
        label="Columns"
        minWidth={620}
        verticalSpacing="xs"
        rows={table.columns}
        keyOf={({ name }) => name}
        columns={[
          {
            head: 'Name',
            cell: ({ name }) => (
              <Group gap="xs">
                <span className="mono">{name}</span>
                {name === table.owner_column && <Badge variant="light">row owner</Badge>}
              </Group>
            ),
          },
          { head: 'Type', cell: ({ type, checks }) => typeWithChecks(type, storedChecks(checks)) },
          { head: 'Null', cell: ({ nullable }) => (nullable ? 'nullable' : 'not null') },
          {
            head: 'Default',
            cell: (column) => <DefaultText column={column} ownerColumn={table.owner_column} />,
          },
          {
            head: 'Actions',
            cell: (column) => (
              <Group gap="xs" wrap="nowrap">
                <ActionButton
                  why={whyNotAlter(updateColumn)}
                  size="compact-sm"
                  onClick={() => setOpened(column)}
                  aria-label={`Edit column ${column.name}`}
                >
                  Edit
                </ActionButton>
                <ActionButton
                  why={whyNotAlter(dropColumn) ?? whyNotDrop(column, table.owner_column)}
                  size="compact-sm"
                  onClick={() => void drop.propose({ params: { ...params, column: column.name } })}
                  aria-label={`Drop column ${column.name}`}
                >
                  Drop
                </ActionButton>
              </Group>
            ),
          },
        ]}
      />
      {opened === 'new' && <AddColumnDialog onClose={() => setOpened(null)} />}
      {opened !== null && opened !== 'new' && (
        <ColumnDialog column={opened} onClose={() => setOpened(null)} />
      )}
    </Stack>
  );
}

function DefaultText({ column, ownerColumn }: { column: ColumnView; ownerColumn: string | null }) {
  if (column.default !== null)
    return <span className="mono">{column.default === '' ? '""' : column.default}</span>;
  if (column.generated) return <Text size="sm">generated</Text>;
  if (column.name === ownerColumn) return <Text size="sm">the inserting user</Text>;
  return <Text size="sm">none</Text>;
}

function whyNotDrop({ name, generated }: ColumnView, ownerColumn: string | null): string | null {
  if (name === ownerColumn) return `${name} holds the owners of rows.`;
  return generated || name === 'id' ? `Every row needs ${name}.` : null;
}

function AddColumnDialog({ onClose }: { onClose: () => void }) {
  const { table, params } = useTable();
  const [record] = useState(newDraft);
  const names = table.columns.map(({ name }) => name);
  const form = useForm(addColumn, record, {
    title: 'Add a column',
    verb: 'Add column',
    done: 'Column added.',
    onDone: onClose,
    errors: (draft) => columnErrors(draft, names),
    input: (draft) => ({ params, body: columnSpec(draft) }),
  });
  return (
    <FormDialog form={form} onClose={onClose} title={`Add a column to ${table.name}`} size="xl">
      <ColumnFields column={form} label="New column" />
      <Hint>
        Existing rows get the default, otherwise null. A table with rows accepts a column without a default
        only if it is nullable.
      </Hint>
    </FormDialog>
  );
}

function ColumnDialog({ column, onClose }: { column: ColumnView; onClose: () => void }) {
  const { table, params } = useTable();
  const isId = column.name === 'id';
  const isGenerated = column.generated || isId;
  const record = {
    ...checksDraft(storedChecks(column.checks)),
    name: column.name,
    type: column.type as string,
    nullable: column.nullable,
    hasDefault: column.default !== null,
    default: column.default ?? '',
  };
  const typeOf = ({ type }: { type: string }): ColumnType => {
    const parsed = parseColumnType(type.trim());
    return typeof parsed === 'string' ? parsed : column.type;
  };
  const changes = (draft: typeof record) => {
    const type = typeOf(draft);
    const checks = draftChecks(type, draft);
    const isChecked = JSON.stringify(checks) !== JSON.stringify(draftChecks(type, record));
    const { name, nullable, hasDefault } = draft;
    return {
      ...changedFields(
        { name: column.name, type: column.type, nullable: column.nullable, default: column.default },
        { name, type, nullable, default: hasDefault ? draft.default : null },
      ),
      ...(isChecked && { checks }),
    };
  };
  const errors = (draft: typeof record) => {
    const isTaken = draft.name !== column.name && table.columns.some((other) => other.name === draft.name);
    const type = typeOf(draft);
    return {
      name: isTaken ? `a column ${draft.name} already exists` : nameError(draft.name),
      type: typeError(column.type, draft.type),
      default: draft.hasDefault ? defaultError({ ...draft, type, checks: draft }) : undefined,
      ...checkErrors(type, draft),
    };
  };
  const form = useForm(updateColumn, record, {
    title: `Update column ${column.name}`,
    verb: 'Update column',
    done: 'Column updated.',
    onDone: onClose,
    whyNot: (draft) => (Object.keys(changes(draft)).length === 0 ? 'Nothing has changed yet.' : null),
    errors,
    input: (draft) => ({ params: { ...params, column: column.name }, body: changes(draft) }),
  });
  const live = errors(form.values);
  const hasDefault = form.checkbox('hasDefault');
  return (
    <FormDialog form={form} onClose={onClose} title={`Column ${column.name}`}>
      <TextInput
        {...form.field('name')}
        error={live.name ?? form.error('name')}
        disabled={isId}
        description={
          isId
            ? 'The id cannot be renamed.'
            : 'Programs that use the old name then get the error unknown_column.'
        }
        autoComplete="off"
        spellCheck={false}
      />
      <TextInput
        {...form.field('type')}
        label="Type"
        error={live.type ?? form.error('type')}
        disabled={isGenerated || column.name === table.owner_column}
        description="A type that can take every value, such as bigint for int, or an enum with more values."
        autoComplete="off"
        spellCheck={false}
      />
      <CheckFields type={typeOf(form.values)} column={form} disabled={isGenerated} />
      <Checkbox
        {...form.checkbox('nullable')}
        label="Nullable"
        disabled={isGenerated}
        description={isGenerated ? `${column.name} always has a value.` : undefined}
      />
      <Checkbox
        {...hasDefault}
        label="Has a default"
        onChange={(event) => {
          hasDefault.onChange(event);
          if (form.values.default === '')
            form.set({ default: describeColumnType(typeOf(form.values)).defaultFunction ?? '' });
        }}
        disabled={isGenerated}
        description={isGenerated ? `The service fills in ${column.name}.` : undefined}
      />
      {form.values.hasDefault && (
        <TextInput
          {...form.field('default')}
          error={live.default ?? form.error('default')}
          description="For new rows; existing rows stay as they are."
          disabled={isGenerated}
          autoComplete="off"
        />
      )}
    </FormDialog>
  );
}

const storedChecks = (checks: ColumnView['checks']) => (checks ?? {}) as ColumnChecks;

function typeError(from: ColumnType, text: string): string | undefined {
  const type = parseColumnType(text.trim());
  if (typeof type !== 'string') return type.detail;
  // References are checked by the server, which knows the ids of the table.
  if (refTarget(from) !== null || refTarget(type) !== null) return undefined;
  return typeChangeProblem(from, type) ?? undefined;
}
