import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { conditionsMax } from '@svc/contract/rows.ts';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { ActionButton } from '../../../../components/buttons.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { SecondaryButton } from '../../../../components/text.tsx';
import { type Filter, formatTest, type GridColumn, operatorChoices, parseTest } from './grid-query.ts';

export function FilterDialog({
  columns,
  filters,
  onApply,
  onClose,
}: {
  columns: readonly GridColumn[];
  filters: readonly Filter[];
  onApply: (filters: readonly Filter[]) => void;
  onClose: () => void;
}) {
  const first = columns.find(({ name }) => name !== 'id') ?? columns[0];
  const newConditions = (): Filter[] =>
    first ? [{ column: first.name, text: formatTest(first.type, initialTest(first)) }] : [];
  const [drafts, setDrafts] = useState<readonly Filter[]>(() =>
    filters.length > 0 ? filters : newConditions(),
  );
  return (
    <Dialog onClose={onClose} title="Filter rows" size="xl">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onApply(drafts);
        }}
      >
        <Stack>
          <Text size="sm">Rows must match all conditions.</Text>
          {drafts.map((filter, at) => (
            <FilterLine
              // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no id; its position identifies it.
              key={at}
              at={at + 1}
              columns={columns}
              filter={filter}
              onChange={(next) => setDrafts(drafts.map((each, index) => (index === at ? next : each)))}
              onRemove={() => setDrafts(drafts.filter((_, index) => index !== at))}
            />
          ))}
          <Group>
            <ActionButton
              icon={IconPlus}
              why={drafts.length < conditionsMax ? null : `A filter has at most ${conditionsMax} conditions.`}
              onClick={() => setDrafts([...drafts, ...newConditions()])}
            >
              Add condition
            </ActionButton>
          </Group>
          <Group justify="flex-end">
            <SecondaryButton onClick={() => onApply([])}>Show all rows</SecondaryButton>
            <Button type="submit">Apply filter</Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function FilterLine({
  at,
  columns,
  filter,
  onChange,
  onRemove,
}: {
  at: number;
  columns: readonly GridColumn[];
  filter: Filter;
  onChange: (filter: Filter) => void;
  onRemove: () => void;
}) {
  const column = columns.find(({ name }) => name === filter.column) ?? columns[0];
  if (!column) return null;
  const test = parseTest(column.type, filter.text);
  const choices = operatorChoices(column.type);
  const choice = choices.find(({ op }) => op === test.op);
  return (
    <Group gap="xs" align="flex-end" role="group" aria-label={`Condition ${at}`}>
      <NativeSelect
        label="Column"
        data={columns.map(({ name }) => name)}
        value={column.name}
        onChange={(event) => {
          const next = columns.find(({ name }) => name === event.currentTarget.value);
          if (next) onChange({ column: next.name, text: formatTest(next.type, initialTest(next)) });
        }}
        w={{ base: '100%', xs: 180 }}
      />
      <NativeSelect
        label="Operator"
        data={choices.map(({ op, label }) => ({ value: op, label }))}
        value={test.op}
        onChange={(event) => {
          const op = event.currentTarget.value;
          onChange({ column: column.name, text: formatTest(column.type, { op, value: test.value }) });
        }}
        w={{ base: '100%', xs: 160 }}
      />
      {choice?.hint !== undefined && (
        <TextInput
          label="Value"
          placeholder={choice.hint}
          value={test.value}
          onChange={(event) =>
            onChange({
              column: column.name,
              text: formatTest(column.type, { op: test.op, value: event.currentTarget.value }),
            })
          }
          w={{ base: '100%', xs: 220 }}
          autoComplete="off"
        />
      )}
      <Button variant="subtle" color="gray" onClick={onRemove} aria-label={`Remove condition ${at}`}>
        <IconTrash size={16} aria-hidden />
      </Button>
    </Group>
  );
}

const initialTest = ({ type }: Pick<GridColumn, 'type'>) => ({
  op: operatorChoices(type)[0]?.op ?? 'eq',
  value: '',
});
