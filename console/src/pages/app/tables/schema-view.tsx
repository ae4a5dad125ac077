import {
  Checkbox,
  Group,
  MultiSelect,
  NativeSelect,
  Paper,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { columnsPerIndexMax, indexesPerTableMax } from '@svc/contract/columns.ts';
import { searchLanguages, searchWeights } from '@svc/contract/search.ts';
import { addIndex, dropIndex, dropTable, listIndexes, updateTable } from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ActionButton, ChangeButton } from '../../../components/buttons.tsx';
import { DataTable } from '../../../components/data-table.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { TimeText } from '../../../components/display.tsx';
import { FormElement, FormEnd, SubmitButton } from '../../../components/form-card.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { changedFields, useForm } from '../../../components/use-form.ts';
import { descriptionError, tableNameError } from './column-draft.ts';
import { ColumnsPart } from './columns-part.tsx';
import { OptionsPart } from './options-part.tsx';
import { useTable } from './use-table.ts';

export function SchemaView() {
  return (
    <Stack gap="xl">
      <ColumnsPart />
      <IndexesPart />
      <NamePart />
      <OptionsPart />
      <DropTablePart />
    </Stack>
  );
}

function NamePart() {
  const { table, params, whyNotAlter, paths } = useTable();
  const [, go] = useLocation();
  const record = { name: table.name, description: table.description };
  const errors = ({ name, description }: typeof record) => ({
    name: tableNameError(name),
    description: descriptionError(description),
  });
  const form = useForm(updateTable, record, {
    title: 'Update the table',
    verb: 'Update table',
    done: 'Table updated.',
    onDone: (changed) => go(`${paths.table(changed.name)}?view=schema`, { replace: true }),
    whyNot: (values) =>
      whyNotAlter(updateTable) ??
      (Object.keys(changedFields(record, values)).length === 0 ? 'Nothing has changed yet.' : null),
    errors,
    input: (values) => ({ params, body: changedFields(record, values) }),
  });
  const live = errors(form.values);
  return (
    <FormElement form={form}>
      <Stack gap="sm" maw={640}>
        <Heading order={3}>Name and description</Heading>
        <TextInput
          {...form.field('name')}
          description="Part of its URL in the data API: programs that use the old name no longer find it."
          error={live.name ?? form.error('name')}
          autoComplete="off"
          spellCheck={false}
        />
        <Textarea {...form.field('description')} error={live.description ?? form.error('description')} />
        <Hint>
          {table.owner_column === null
            ? 'Rows belong to the app. An owner column is chosen when a table is created.'
            : `Rows belong to the user in ${table.owner_column}. This cannot be changed.`}
        </Hint>
        <FormEnd form={form}>
          <SubmitButton form={form}>Preview change</SubmitButton>
        </FormEnd>
      </Stack>
    </FormElement>
  );
}

function IndexesPart() {
  const { params, whyNotAlter } = useTable();
  const [isOpen, setOpen] = useState(false);
  const answer = useEndpoint(listIndexes, { params, query: { per_page: 50 } });
  const drop = useChange(dropIndex, { title: 'Drop the index', verb: 'Drop index', done: 'Index dropped.' });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Heading order={3}>Indexes and unique constraints</Heading>
        <ActionButton
          why={whyNotAlter(addIndex) ?? whyFull(answer.data?.total ?? 0)}
          icon={IconPlus}
          onClick={() => setOpen(true)}
        >
          Add an index
        </ActionButton>
      </Group>
      <ProblemAlert error={drop.problem} />
      <QueryView answer={answer} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Hint>
              None yet. An index speeds up filtering and sorting by its columns; a unique index prevents rows
              with equal values.
            </Hint>
          ) : (
            <DataTable
              label="Indexes"
              minWidth={680}
              verticalSpacing="xs"
              rows={items}
              columns={[
                { head: 'Name', cell: ({ name }) => name, td: { className: 'mono' } },
                { head: 'Columns', cell: ({ columns }) => columns.join(', ') },
                { head: 'Kind', cell: ({ unique, language }) => indexKind(unique, language) },
                { head: 'Created', cell: (index) => <TimeText value={index.created_at} /> },
                {
                  head: 'Actions',
                  cell: ({ id, name }) => (
                    <ActionButton
                      why={whyNotAlter(dropIndex)}
                      size="compact-sm"
                      onClick={() => void drop.propose({ params: { ...params, index: id } })}
                      aria-label={`Drop index ${name}`}
                    >
                      Drop
                    </ActionButton>
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
      {isOpen && <AddIndexDialog onClose={() => setOpen(false)} />}
    </Stack>
  );
}

const indexKind = (unique: boolean, language: string | undefined) =>
  language ? `search (${language})` : unique ? 'unique' : 'index';

const whyFull = (count: number) =>
  count >= indexesPerTableMax ? `A table has at most ${indexesPerTableMax} indexes. Drop one first.` : null;

function AddIndexDialog({ onClose }: { onClose: () => void }) {
  const { table, params } = useTable();
  const record = { columns: [] as string[], unique: false, isSearch: false, language: 'simple' };
  const form = useForm(addIndex, record, {
    title: 'Add an index',
    verb: 'Add index',
    done: 'Index added.',
    onDone: onClose,
    whyNot: ({ columns }) => (columns.length === 0 ? 'Choose a column first.' : null),
    input: ({ columns, unique, isSearch, language }) => ({
      params,
      body: isSearch ? { search: assignWeights(columns), language } : { columns, unique },
    }),
  });
  const { isSearch } = form.values;
  return (
    <FormDialog form={form} onClose={onClose} title={`Add an index to ${table.name}`}>
      <MultiSelect
        {...form.field('columns')}
        description={
          isSearch
            ? 'The most important first: it counts most.'
            : 'In the order in which you filter and sort.'
        }
        data={table.columns.filter(({ type }) => !isSearch || type === 'text').map(({ name }) => name)}
        maxValues={columnsPerIndexMax}
        comboboxProps={{ withinPortal: true }}
      />
      {!isSearch && (
        <Checkbox
          {...form.checkbox('unique')}
          description="No two rows may have the same values. An import can then match existing rows."
        />
      )}
      <Checkbox
        {...form.checkbox('isSearch')}
        label="For full-text search"
        description="Rows are found by words of these columns. A table has one such index."
      />
      {isSearch && <NativeSelect {...form.field('language')} data={searchLanguages} />}
    </FormDialog>
  );
}

const assignWeights = (columns: readonly string[]) =>
  Object.fromEntries(columns.map((name, at) => [name, searchWeights[Math.min(at, 3)] ?? 'D']));

function DropTablePart() {
  const { table, params, whyNotAlter, paths } = useTable();
  const [, go] = useLocation();
  const change = useChange(dropTable, {
    title: `Drop ${table.name}`,
    verb: 'Drop table',
    done: `Table ${table.name} dropped.`,
    onDone: () => go(paths.app('tables'), { replace: true }),
  });
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Heading order={3}>Drop the table</Heading>
        <Text size="sm">
          This also deletes its rows, indexes and grants and cannot be undone. Export the rows first.
        </Text>
        <ProblemAlert error={change.problem} />
        <Group>
          <ChangeButton
            why={whyNotAlter(dropTable)}
            color="red"
            variant="outline"
            change={change}
            input={{ params }}
          >
            Drop table {table.name}
          </ChangeButton>
        </Group>
      </Stack>
    </Paper>
  );
}
